"""The CDK's command line starts the app only where its assembly is not kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmpod.operations.deploy import cdk as module
from slurmpod.operations.deploy.cdk import Cdk, CdkFailed
from slurmpod.operations.deploy.kept_assemblies import TAKEN
from tests.sound_environment import SOUND

COMMAND_LINE = """
const fs = require("fs")
const given = process.argv.slice(2)
fs.appendFileSync("calls", JSON.stringify(given) + "\\n")
const output = given[given.indexOf("--output") + 1]
if (given.includes("--output")) {
  fs.mkdirSync(output, { recursive: true })
  fs.writeFileSync(`${output}/manifest.json`, JSON.stringify({ artifacts: {} }))
}
if (fs.existsSync("meanwhile")) fs.renameSync("meanwhile", "dev.yaml")
process.exit(fs.existsSync("fails") ? 1 : 0)
"""
"""Stands for the CDK's, of which tests/cloud has the real one."""


LARGER = SOUND.replace("capacity_gib: 1200", "capacity_gib: 2400")


class Person:
    """Somebody with an environment, a home, and an app beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "dev.yaml"
        self.file.write_text(SOUND)
        self.script = folder / "aws-cdk/bin/cdk"
        self.script.parent.mkdir(parents=True)
        self.script.write_text(COMMAND_LINE)
        self.cdk = Cdk(folder / "cdk.out", folder, {"PATH": os.environ["PATH"]})
        for name in ("cdk.json", "cdk.context.json", ".cdk.json", "aws-cdk/package.json"):
            (folder / name).write_text("{}")

    def deploy(self, **options: str) -> str:
        """Deploy, and return what is told of it."""
        with self.cdk.deploy(self.file, **options) as run:
            run.wait()
        assert self.cdk.is_synthesized()
        return run.note

    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    person = Person(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SLURMPOD_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "required_cdk_script", lambda: person.script)
    monkeypatch.setattr(module, "app_folder", lambda: tmp_path)
    return person


def test_the_second_deployment_of_a_file_starts_no_app(person: Person) -> None:
    assert person.deploy() == ""
    assert person.deploy(only="dev-network") == TAKEN
    first, second = person.calls()
    assert first[:2] == ["deploy", "--all"]
    assert first[-4:] == ["--context", f"env={person.file}", "--output", str(person.cdk.assembly)]
    assert second[:3] == ["deploy", "dev-network", "--exclusively"]
    assert second[-2:] == ["--app", str(person.cdk.assembly)]
    for call in (first, second):
        assert {"--strict", "--no-lookups"} <= set(call)
        assert call[call.index("--require-approval") + 1] == "never"


def test_a_synthesis_takes_what_a_deployment_made(person: Person) -> None:
    person.deploy()
    with person.cdk.synthesize(person.file) as run:
        run.wait()
    assert run.note == TAKEN


def with_context(person: Person, name: str) -> None:
    (person.folder / name).write_text('{"context": {"more": true}}')


CHANGES: dict[str, Callable[[Person], object]] = {
    "environment": lambda person: person.file.write_text(LARGER),
    "cdk.json": lambda person: with_context(person, "cdk.json"),
    "cdk.context.json": lambda person: with_context(person, "cdk.context.json"),
    "one context file less": lambda person: (person.folder / "cdk.context.json").unlink(),
    "user's settings": lambda person: with_context(person, ".cdk.json"),
    "version": lambda person: with_context(person, "aws-cdk/package.json"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_a_change_the_app_is_started(
    person: Person, change: Callable[[Person], object]
) -> None:
    person.deploy()
    change(person)
    assert person.deploy() == ""
    assert person.deploy() == TAKEN


def test_the_app_of_a_protected_environment_is_asked_each_time(person: Person) -> None:
    """It asks AWS what would be lost."""
    person.file.write_text(f"{SOUND}protected: true\n")
    assert [person.deploy(confirmed="dev") for _ in range(2)] == ["", ""]
    assert all("confirm=dev" in call for call in person.calls())


def test_mistakes_are_told_by_the_app(person: Person) -> None:
    person.file.write_text(SOUND.replace("capacity_gib: 1200", "capacity_gib: 1"))
    assert [person.deploy() for _ in range(2)] == ["", ""]


def test_what_failed_is_not_kept(person: Person) -> None:
    (person.folder / "fails").touch()
    with pytest.raises(CdkFailed):
        person.deploy()
    (person.folder / "fails").unlink()
    assert person.deploy() == ""


def test_what_was_changed_meanwhile_is_not_kept(person: Person) -> None:
    """Nobody knows which of the two files the app has read."""
    (person.folder / "meanwhile").write_text(LARGER)
    assert person.deploy() == ""
    person.file.write_text(SOUND)
    assert person.deploy() == ""
