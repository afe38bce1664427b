"""Commands with an environment whose lifecycle scripts are the user's own, or that has none."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from tests.sound_environment import SOUND

START = b"#!/bin/bash\nsystemctl enable --now slurmctld\n"
TOOL = bytes(range(256))


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Return an environment file beside the scripts that it names."""
    (tmp_path / "scripts" / "bin").mkdir(parents=True)
    (tmp_path / "scripts" / "on_create.sh").write_bytes(START)
    (tmp_path / "scripts" / "bin" / "tool").write_bytes(TOOL)
    file = tmp_path / "environment.yaml"
    file.write_text(f"{SOUND}lifecycle:\n  scripts: ./scripts\n")
    return file


def managed(tmp_path: Path) -> Path:
    file = tmp_path / "environment.yaml"
    file.write_text(f"{SOUND}lifecycle:\n  mode: managed\n")
    return file


def test_they_are_sound(environment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(environment)]) == ExitCode.OK
    assert "no problems" in capsys.readouterr().out


def test_expand_shows_names_and_hashes_not_contents(
    environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["expand", str(environment)]) == ExitCode.OK
    shown = yaml.safe_load(capsys.readouterr().out)["resolved"]["lifecycle"]["own_scripts"]
    assert shown == {
        "folder": "./scripts",
        "files": {
            "bin/tool": f"sha256:{hashlib.sha256(TOOL).hexdigest()}",
            "on_create.sh": f"sha256:{hashlib.sha256(START).hexdigest()}",
        },
    }


def test_render_writes_them_as_they_are_beside_our_parameters(
    environment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["render", str(environment), "--out", str(out)]) == ExitCode.OK
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert files == {"bin/tool", "on_create.sh", "provisioning_parameters.json"}
    assert (out / "bin" / "tool").read_bytes() == TOOL
    assert (out / "on_create.sh").read_bytes() == START
    assert "provisioning_parameters.json  (completed when deployed)" in capsys.readouterr().out


def test_every_change_of_a_script_is_another_bundle(
    environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def prefix() -> str:
        assert run(["render", str(environment), "--json"]) == ExitCode.OK
        rendered: dict[str, str] = json.loads(capsys.readouterr().out)
        return rendered["prefix"]

    before = prefix()
    assert prefix() == before
    (environment.parent / "scripts" / "bin" / "tool").write_bytes(TOOL[1:])
    assert prefix() != before


@pytest.mark.parametrize("command", ["validate", "expand", "render"])
def test_a_folder_that_is_not_there_is_a_problem_of_the_line_that_names_it(
    environment: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (environment.parent / "scripts").rename(environment.parent / "elsewhere")
    assert run([command, str(environment)]) == ExitCode.INVALID
    captured = capsys.readouterr()
    assert "scripts does not exist" in captured.out + captured.err
    assert "./scripts" in captured.out + captured.err  # the line itself


def test_their_place_is_told_with_what_is_wrong_in_them(
    environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = environment.read_text().replace("network:\n", "network:\n  closed: true\n")
    environment.write_text(text)
    (environment.parent / "scripts" / "setup.sh").write_text("#!/bin/sh\n\napt-get install -y jq\n")
    assert run(["validate", str(environment)]) == ExitCode.OK
    assert "setup.sh:3 needs the internet: apt-get install" in capsys.readouterr().out


class TestManagedMode:
    def test_there_is_nothing_to_render(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "out"
        assert run(["render", str(managed(tmp_path)), "--out", str(out)]) == ExitCode.OK
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "in managed mode HyperPod sets up nodes without scripts" in captured.err
        assert not out.exists()

    def test_programs_are_told_so_too(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["render", str(managed(tmp_path)), "--json"]) == ExitCode.OK
        assert json.loads(capsys.readouterr().out) is None

    def test_expand_names_no_entry_script(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["expand", str(managed(tmp_path)), "--json"]) == ExitCode.OK
        resolved = json.loads(capsys.readouterr().out)["resolved"]
        assert resolved["lifecycle"]["entry_script"] is None
        assert resolved["stacks"]["lifecycle"] is None
