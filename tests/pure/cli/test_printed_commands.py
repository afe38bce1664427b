"""Commands that we print: the pinned CDK and our own parsers take them, where the user stands."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.cli.main import parser_of
from slurmpod.folders import app_folder
from slurmpod.operations.deploy.cdk_command import cdk_command
from slurmpod.reading.read import read
from tests.golden_files import ROOT

REGISTRY = ROOT / "node_modules" / "aws-cdk" / "lib" / "cli" / "cli-type-registry.json"
"""From which the CLI itself makes its parser."""

SOURCES = (
    "README.md",
    "app.py",
    "docs/**/*.md",
    "slurmpod/**/*.py",
    "stacks/**/*.py",
)
PRINTED = re.compile(r"npx (cdk [^`\n)]*[^`\n).,;: ])")


def printed_commands() -> Iterator[tuple[str, str]]:
    for pattern in SOURCES:
        for file in sorted(ROOT.glob(pattern)):
            for found in PRINTED.finditer(file.read_text()):
                yield file.relative_to(ROOT).as_posix(), found[1]


def unknown_words(command: str) -> list[str]:
    """Return the words of a command that the pinned CLI does not know."""
    registry: dict[str, Any] = json.loads(REGISTRY.read_text())
    action, *rest = re.split(r"[\s']+", command)[1:]
    if action not in registry["commands"]:
        return [action]
    options = {**registry["globalOptions"], **registry["commands"][action]["options"]}
    aliases = {alias for each in options.values() for alias in _aliases(each.get("alias"))}
    long = [word[2:].split("=")[0] for word in rest if word.startswith("--")]
    short = [word[1:] for word in rest if re.fullmatch(r"-\w", word)]
    return [name for name in long if name not in options] + [n for n in short if n not in aliases]


def _aliases(alias: str | list[str] | None) -> list[str]:
    return [alias] if isinstance(alias, str) else alias or []


def test_the_pinned_cli_knows_what_is_printed() -> None:
    found = list(printed_commands())
    assert len(found) > 15
    assert {each for each in found if "{" not in each[1] and unknown_words(each[1])} == set()


@pytest.mark.parametrize("what", ["diff", "deploy --all", "destroy --all", "bootstrap"])
def test_the_pinned_cli_knows_what_commands_print(what: str) -> None:
    assert unknown_words(f"cdk {what} -c env=dev") == []


def test_what_the_cli_does_not_take_is_found() -> None:
    assert unknown_words("cdk diff --all -c env=dev") == ["all"]
    assert unknown_words("cdk undeploy") == ["undeploy"]


@pytest.mark.parametrize("folder", [app_folder(), app_folder() / "environments", Path("/")])
def test_a_command_runs_where_the_cdk_finds_its_app_and_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    file = Path("environments/d'ev.yaml")
    command = cdk_command("diff", file).replace("npx cdk diff", "pwd; echo")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    cwd, arguments = done.stdout.splitlines()
    assert Path(cwd) == app_folder()
    written = arguments.removeprefix("-c env=")
    assert app_folder() / written == folder / file
    assert shlex.quote(written) in command


CODE = re.compile(r"^```.*?^```|^(?: {4}[^\n]*\n)+", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`slurmpod ([a-z][^`]*)`")
OWN = re.compile(r"(?:^ *(?:\$ )?|\| )slurmpod (\w[^#|\n]*)", re.MULTILINE)
PAGES = [
    "README.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")),
]


def own_commands(page: str) -> list[list[str]]:
    """Return the commands of ours in the blocks of code of a page, word by word."""
    text = (ROOT / page).read_text().replace("\\\n", " ")
    blocks = "\n".join(CODE.findall(text))
    return [shlex.split(found[1].partition(" -- ")[0]) for found in OWN.finditer(blocks)]


@pytest.mark.parametrize("page", PAGES)
def test_our_parsers_take_what_pages_print(page: str) -> None:
    for name, *rest in own_commands(page):
        parser_of(name).parse_args(rest)


@pytest.mark.parametrize("page", PAGES)
def test_our_parsers_know_commands_within_sentences(page: str) -> None:
    """They may lack a file, or stand for several; what they name is there."""
    for command in INLINE.findall((ROOT / page).read_text()):
        name, *rest = command.partition(" -- ")[0].split()
        known = options_of(parser_of(name))
        assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= known, command


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """Return the options of a command and of its actions."""
    found = {option for action in parser._actions for option in action.option_strings}
    actions = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return found.union(*(options_of(inner) for each in actions for inner in each.choices.values()))


def test_who_leaves_is_locked_by_commands_for_groups_that_there_are() -> None:
    runs = [words for words in own_commands("docs/access.md") if words[:2] == ["lifecycle", "run"]]
    (file,) = {words[2] for words in runs}
    environment = read(ROOT / file).environment
    assert environment
    assert [words[-1] for words in runs] == [group.name for group in environment.cluster.groups]
