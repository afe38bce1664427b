"""Scripts of hooks: read as they are, or refused with file and line of what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.reading.hooks import HooksReading, read_hooks
from slurmpod.reading.read import read
from tests.sound_environment import SOUND

SCRIPT = "#!/bin/bash\necho 'Grüße'\n"
HOOKS = "lifecycle:\n  hooks:\n    worker: {before: mine.sh}\n    login: {after: ../mine.sh}\n"


def files_of(folder: Path, script: bytes, section: str = HOOKS) -> HooksReading:
    """Read the hooks of an environment; both of its hooks are `script`."""
    below = folder / "below"
    below.mkdir()
    (below / "environment.yaml").write_text(f"{SOUND}{section}")
    for place in (folder, below):
        (place / "mine.sh").write_bytes(script)
    loaded = read(below / "environment.yaml")
    assert loaded.environment is not None
    return read_hooks(loaded.environment, loaded.source)


def test_they_go_by_their_paths_in_the_bundle(tmp_path: Path) -> None:
    reading = files_of(tmp_path, SCRIPT.encode())
    assert reading.problems == ()
    assert reading.scripts == {"hooks/worker-before.sh": SCRIPT, "hooks/login-after.sh": SCRIPT}


def test_a_byte_order_mark_that_would_hide_the_first_line_is_taken_away(tmp_path: Path) -> None:
    assert (
        files_of(tmp_path, b"\xef\xbb\xbf#!/bin/sh\n").scripts["hooks/login-after.sh"]
        == "#!/bin/sh\n"
    )


def test_an_environment_without_hooks_reads_none(tmp_path: Path) -> None:
    assert files_of(tmp_path, b"", section="") == HooksReading({}, ())


def test_a_file_that_is_not_there_is_told_where_it_is_named(tmp_path: Path) -> None:
    section = "lifecycle:\n  hooks:\n    worker:\n      after: missing.sh\n"
    (problem,) = files_of(tmp_path, b"", section).problems
    assert problem.rule == "HOK-001"
    assert problem.where.file.endswith("environment.yaml")
    assert problem.where.path == "lifecycle.hooks.worker.after"
    assert "missing.sh: cannot read the file: No such file or directory" in problem.message


@pytest.mark.parametrize(
    ("script", "line", "message"),
    [
        (b"echo a\n", 1, "the script names no interpreter: its first line has no #!"),
        (b"", 1, "the script names no interpreter: its first line has no #!"),
        (b"#!\necho a\n", 1, "the script names no interpreter: its first line has no #!"),
        (b"#!/bin/bash\necho a\r\necho b\r\n", 2, "the script has Windows line endings"),
    ],
)
def test_what_could_not_be_started_is_told_with_its_line(
    tmp_path: Path, script: bytes, line: int, message: str
) -> None:
    reading = files_of(tmp_path, script)
    assert reading.scripts == {}
    places = [(each.where.file, each.where.line, each.message) for each in reading.problems]
    assert all((at, said) == (line, message) for _, at, said in places)
    assert all(file.endswith("mine.sh") for file, _, _ in places)
    assert len(places) == 2


@pytest.mark.parametrize("script", [b"#!/bin/sh\n\xff\n", b"#!/bin/sh\n" + b"#" * 1_000_000])
def test_what_is_no_text_or_too_large_is_refused(tmp_path: Path, script: bytes) -> None:
    reading = files_of(tmp_path, script)
    assert reading.scripts == {}
    assert len(reading.problems) == 2
