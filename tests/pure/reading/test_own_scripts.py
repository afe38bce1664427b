"""A folder of a user's scripts: taken as it is, or refused with every reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slurmpod.reading import own_scripts
from slurmpod.reading.own_scripts import ScriptsReading, read_own_scripts
from slurmpod.reading.read import read
from tests.sound_environment import SOUND


def files_of(folder: Path, written: str = "./scripts") -> ScriptsReading:
    """Read the scripts that an environment file in `folder` names."""
    file = folder / "environment.yaml"
    file.write_text(f"{SOUND}lifecycle:\n  scripts: {written}\n")
    loaded = read(file)
    assert loaded.environment is not None
    return read_own_scripts(loaded.environment, loaded.source)


def messages(reading: ScriptsReading) -> list[str]:
    assert reading.scripts is None
    return [problem.message for problem in reading.problems]


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "on_create.sh").write_bytes(b"#!/bin/bash\r\n")
    return folder


def test_every_file_is_taken_byte_by_byte(tmp_path: Path, scripts: Path) -> None:
    (scripts / "deep" / "er").mkdir(parents=True)
    (scripts / "deep" / "er" / ".hidden").write_bytes(bytes(range(256)))
    (scripts / "empty").touch()
    reading = files_of(tmp_path)
    assert reading.scripts is not None
    assert reading.problems == ()
    assert dict(reading.scripts.files) == {
        "deep/er/.hidden": bytes(range(256)),
        "empty": b"",
        "on_create.sh": b"#!/bin/bash\r\n",
    }
    assert list(reading.scripts.files) == sorted(reading.scripts.files)


@pytest.mark.parametrize("left", [".git/config", "__pycache__/x.pyc", "a/.DS_Store"])
def test_what_tools_leave_behind_is_left_out(tmp_path: Path, scripts: Path, left: str) -> None:
    (scripts / left).parent.mkdir(parents=True)
    (scripts / left).touch()
    reading = files_of(tmp_path)
    assert reading.scripts is not None
    assert list(reading.scripts.files) == ["on_create.sh"]


def test_an_environment_without_scripts_reads_none(tmp_path: Path) -> None:
    (tmp_path / "environment.yaml").write_text(SOUND)
    loaded = read(tmp_path / "environment.yaml")
    assert loaded.environment is not None
    assert read_own_scripts(loaded.environment, loaded.source) == ScriptsReading(None, ())


def test_the_folder_is_relative_to_the_file_that_says_so(tmp_path: Path, scripts: Path) -> None:
    (tmp_path / "_base.yaml").write_text(f"{SOUND}lifecycle:\n  scripts: ./scripts\n")
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "environment.yaml").write_text("extends: ../_base.yaml\nname: other\n")
    loaded = read(other / "environment.yaml")
    assert loaded.environment is not None, loaded.problems
    assert read_own_scripts(loaded.environment, loaded.source).scripts is not None


def test_a_link_within_the_folder_is_followed(tmp_path: Path, scripts: Path) -> None:
    (scripts / "again.sh").symlink_to("on_create.sh")
    reading = files_of(tmp_path)
    assert reading.scripts is not None
    assert reading.scripts.files["again.sh"] == b"#!/bin/bash\r\n"


class TestRefused:
    def test_at_the_line_that_names_the_folder(self, tmp_path: Path) -> None:
        (problem,) = files_of(tmp_path).problems
        assert problem.rule == "OWN-001"
        assert problem.where.line == len(SOUND.splitlines()) + 2

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        assert messages(files_of(tmp_path)) == [f"{tmp_path}/scripts does not exist"]

    def test_a_file_in_its_place(self, tmp_path: Path, scripts: Path) -> None:
        assert messages(files_of(tmp_path, "./scripts/on_create.sh")) == [
            f"{tmp_path}/scripts/on_create.sh is a file"
        ]

    def test_an_empty_folder(self, tmp_path: Path, scripts: Path) -> None:
        (scripts / "on_create.sh").unlink()
        assert messages(files_of(tmp_path)) == [f"{tmp_path}/scripts has no files"]

    def test_every_file_that_cannot_be_taken_is_named(self, tmp_path: Path, scripts: Path) -> None:
        (tmp_path / "secret").write_text("secret")
        (scripts / "a").symlink_to(tmp_path / "secret")
        (scripts / "b").symlink_to("nowhere")
        (scripts / "c").symlink_to("c")
        (scripts / "d").symlink_to(".")
        os.mkfifo(scripts / "e")
        (scripts / "f\ng").touch()
        (scripts / "h\\i").touch()
        assert messages(files_of(tmp_path)) == [
            "a leads out of the folder",
            "cannot read b: No such file or directory",
            "cannot read c: Too many levels of symbolic links",
            "d is not a file",
            "e is not a file",
            r"'f\ng' cannot be the name of an object in S3",
            r"'h\\i' cannot be the name of an object in S3",
        ]

    def test_names_that_are_no_text(self, tmp_path: Path, scripts: Path) -> None:
        (scripts / os.fsdecode(b"\xff")).touch()
        assert "cannot be the name" in messages(files_of(tmp_path))[0]

    @pytest.mark.parametrize(("limit", "value"), [("FILES_LIMIT", 0), ("BYTES_LIMIT", 5)])
    def test_more_than_nodes_should_fetch(
        self, tmp_path: Path, scripts: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
    ) -> None:
        monkeypatch.setattr(own_scripts, limit, value)
        (message,) = messages(files_of(tmp_path))
        assert "has more than" in message

    def test_what_is_the_same_a_hundred_times_is_told_ten_times(
        self, tmp_path: Path, scripts: Path
    ) -> None:
        for number in range(100):
            (scripts / f"{number}").symlink_to("nowhere")
        assert len(messages(files_of(tmp_path))) == 10

    @pytest.mark.parametrize("written", ["'/proc'", "'/'", "'a: b'", "'~'", "'x' "])
    def test_whatever_is_written_there_are_only_problems(
        self, tmp_path: Path, written: str
    ) -> None:
        assert messages(files_of(tmp_path, written))
