from __future__ import annotations

import socket
from pathlib import Path

import pytest

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.step import CommandFailed, NotYet, StepFailed


class TestRun:
    def test_returns_what_the_command_printed(self) -> None:
        assert Machine().run("cat", text="line\n") == "line\n"

    def test_a_failure_tells_command_status_and_last_words(self) -> None:
        script = "echo one >&2; echo two >&2; echo three >&2; echo four >&2; exit 7"
        with pytest.raises(CommandFailed) as failure:
            Machine().run("sh", "-c", script, fix="mend it")
        assert failure.value.reason == f"'sh -c {script}' failed with status 7: two; three; four"
        assert failure.value.fix == "mend it"

    def test_a_failure_may_pass_with_time(self) -> None:
        with pytest.raises(NotYet):
            Machine().run("false")

    def test_a_command_that_is_not_installed_does_not_pass_with_time(self) -> None:
        with pytest.raises(StepFailed, match="no command no-such-command") as failure:
            Machine().run("no-such-command")
        assert not isinstance(failure.value, NotYet)

    def test_a_command_that_hangs_is_ended(self) -> None:
        with pytest.raises(CommandFailed, match=r"'sleep 60' did not end within 0\.05 s"):
            Machine().run("sleep", "60", timeout_seconds=0.05)

    def test_a_program_that_somebody_still_has_open_can_start_later(self, tmp_path: Path) -> None:
        program = tmp_path / "program"
        program.write_text("#!/bin/sh\necho started\n")
        program.chmod(0o755)
        with (
            program.open("a"),
            pytest.raises(CommandFailed, match="cannot start yet: Text file busy"),
        ):
            Machine().run(str(program))
        assert Machine().run(str(program)) == "started\n"

    def test_a_question_is_answered_by_the_exit_status(self) -> None:
        assert Machine().succeeds("true")
        assert not Machine().succeeds("false")


class TestFiles:
    def test_a_missing_file_reads_as_none(self, tmp_path: Path) -> None:
        assert Machine().read(str(tmp_path / "missing")) is None

    def test_writing_tells_whether_the_text_changed(self, tmp_path: Path) -> None:
        path = str(tmp_path / "folder" / "file")
        assert Machine().write(path, "text")
        assert not Machine().write(path, "text")
        assert Machine().write(path, "other")
        assert Machine().read(path) == "other"

    def test_writing_sets_the_mode_also_where_the_text_is_right(self, tmp_path: Path) -> None:
        path = tmp_path / "secret"
        path.write_text("text")
        path.chmod(0o644)
        assert not Machine().write(str(path), "text", mode=0o600)
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_text("old")
        with pytest.raises(StepFailed, match="no user or group 'nobody-has-this-name'"):
            Machine().write(str(path), "new", owner="nobody-has-this-name")
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("before", ["", "first\n", "first"])
    def test_appending_adds_a_line_and_keeps_the_file(self, tmp_path: Path, before: str) -> None:
        path = tmp_path / "file"
        path.write_text(before)
        path.chmod(0o640)
        inode = path.stat().st_ino
        Machine().append(str(path), "last")
        assert path.read_text().splitlines() == [*before.splitlines(), "last"]
        assert path.stat().st_mode & 0o777 == 0o640
        assert path.stat().st_ino == inode


def test_an_open_port_answers_and_a_closed_one_does_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert Machine().answers("127.0.0.1", port)
    assert not Machine().answers("127.0.0.1", port)
