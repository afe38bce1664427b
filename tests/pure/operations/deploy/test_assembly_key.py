"""Whatever an assembly is made of has a part in its digest, and nothing else has."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copytree
from types import MappingProxyType

import pytest

from slurmpod.operations.deploy import assembly_key as ingredients
from slurmpod.operations.deploy.assembly_key import assembly_key, digest_of_files
from slurmpod.reading.read import read
from slurmpod.resolve import Resolved, resolve
from tests.environment_files import FILES
from tests.golden_files import ROOT

CONTEXT = {"@aws-cdk/core:checkSecretUsage": True, "env": "dev"}
VARIABLES = {"CDK_CLI_VERSION": "2.1148.1", "HOME": "/root"}

Change = Callable[[Path], object]


def resolved(file: Path) -> Resolved:
    reading = read(file)
    assert not reading.problems
    return resolve(reading)


def key(
    *files: Path, context: Mapping[str, object] = MappingProxyType({}), **variables: str
) -> str | None:
    environments = [resolved(file) for file in files or (FILES["dev"],)]
    return assembly_key(environments, {**CONTEXT, **context}, {**VARIABLES, **variables})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda: key(FILES["p5-prod"]), id="environment"),
        pytest.param(lambda: key(FILES["dev"], FILES["p5-prod"]), id="one more environment"),
        pytest.param(lambda: key(context={"@aws-cdk/core:checkSecretUsage": False}), id="flag"),
        pytest.param(lambda: key(context={"vpc-provider": "vpc-1"}), id="context"),
        pytest.param(lambda: key(CDK_CLI_VERSION="2.1149.0"), id="command line"),
        pytest.param(lambda: key(CDK_VALIDATION="false"), id="check of templates"),
        pytest.param(lambda: key(JSII_NODE="/usr/bin/node"), id="node"),
    ],
)
def test_what_the_cdk_is_given_is_an_ingredient(other: Callable[[], str | None]) -> None:
    assert other() not in (key(), None)


def test_the_order_of_environments_is_an_ingredient() -> None:
    first, second = FILES["dev"], FILES["p5-prod"]
    assert key(first, second) != key(second, first)


@pytest.mark.parametrize("setting", ["version", "path"])
def test_python_and_what_is_installed_are_ingredients(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str
) -> None:
    before = key()
    (tmp_path / "aws_cdk_lib-3.0.0.dist-info").mkdir()
    values = {"version": "3.99", "path": [*sys.path, str(tmp_path)]}
    monkeypatch.setattr(sys, setting, values[setting])
    assert key() != before


def test_all_code_is_an_ingredient() -> None:
    folders = ("slurmpod", "stacks", "functions", "lifecycle_scripts", "templates", "app.py")
    assert {ROOT / name for name in folders} <= set(ingredients._code())


def test_a_changed_line_of_code_is_another_digest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = key()
    code = tuple(ingredients._code())
    templates = next(each for each in code if each.name == "templates")
    changed = copytree(templates, tmp_path / "templates")
    others = [changed if each == templates else each for each in code]
    monkeypatch.setattr(ingredients, "_code", lambda: others)
    assert key() == before
    with next(changed.rglob("*.j2")).open("a") as file:
        file.write("\n")
    assert key() != before


CHANGES: dict[str, Change] = {
    "content": lambda folder: (folder / "a/one").write_text("other"),
    "name": lambda folder: (folder / "a/one").rename(folder / "a/other"),
    "place": lambda folder: (folder / "a/one").rename(folder / "one"),
    "one more": lambda folder: (folder / "three").touch(),
    "one less": lambda folder: (folder / "two").unlink(),
    "a border between files": lambda folder: [
        (folder / "a/one").write_text("firs"),
        (folder / "two").write_text("tsecond"),
    ],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_files_are_the_same_by_path_and_content(tmp_path: Path, change: Change) -> None:
    folder, same = tmp_path / "here", tmp_path / "there"
    (folder / "a").mkdir(parents=True)
    (folder / "a/one").write_text("first")
    (folder / "two").write_text("second")
    copytree(folder, same)
    (same / "__pycache__").mkdir()
    (same / "__pycache__/one.pyc").touch()
    assert digest_of_files([folder]) == digest_of_files([same])
    change(same)
    assert digest_of_files([folder]) != digest_of_files([same])


OF_USERS = (
    ("extended", "extended/*"),
    ("guarded-data", "guarded-data/*"),
    ("own-roles", "own-roles/*"),
    ("own-scripts", "own-scripts/*.sh"),
    ("research-teams", "research-teams.csv"),
    ("team-vision", "_team-base.yaml"),
)
"""Environments that name other files, and one of each kind."""


@pytest.mark.parametrize(("name", "named"), OF_USERS)
def test_files_that_an_environment_names_are_ingredients(
    tmp_path: Path, name: str, named: str
) -> None:
    folder = copytree(FILES[name].parent, tmp_path / "environments")
    file = folder / FILES[name].name
    before = key(file)
    change_named(sorted(folder.glob(named))[0])
    assert key(file) not in (before, None)


def change_named(file: Path) -> None:
    text = file.read_text()
    if file.suffix == ".json":
        file.write_text(text.replace('"Resource": "*"', '"Resource": "arn:aws:s3:::other"', 1))
    elif file.suffix == ".csv":
        head, _, *others = text.splitlines()
        file.write_text("\n".join([head, *others, ""]))
    elif file.suffix == ".yaml":
        file.write_text(
            text.replace("us-west-2b", "us-west-2c").replace("\ntags:", "\ntags:\n  more: one")
        )
    else:
        file.write_text(f"{text}\n# one line more\n")


def test_a_default_that_is_written_is_an_ingredient(tmp_path: Path) -> None:
    """The record of what is deployed holds what was written."""
    file = tmp_path / "dev.yaml"
    file.write_text(f"{FILES['dev'].read_text()}\nprotected: false\n")
    assert key(file) != key()


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda: key(context={"env": "all", "confirm": "dev"}), id="choices"),
        pytest.param(lambda: key(HOME="/home", CDK_OUTDIR="out", CDK_HOME="x"), id="places"),
        pytest.param(lambda: key(CDK_DEFAULT_ACCOUNT="1", CDK_DEFAULT_REGION="x"), id="defaults"),
    ],
)
def test_what_stacks_are_not_made_of_is_no_ingredient(other: Callable[[], str | None]) -> None:
    assert other() == key()


def test_a_comment_is_no_ingredient(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(f"# a comment\n{FILES['dev'].read_text()}")
    assert key(file) == key()


def test_what_is_unknown_has_no_digest() -> None:
    assert key(context={"odd": object()}) is None
    assert key(CONTEXT_OVERFLOW_LOCATION_ENV=os.devnull) is None
