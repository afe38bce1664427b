"""The folders of rehearsals: whose are cleared, and what is read from a journal being written."""

from __future__ import annotations

import fcntl
import subprocess
from typing import TYPE_CHECKING

import pytest

from slurmpod.rehearsal import launch
from slurmpod.rehearsal.home import rehearsals
from slurmpod.rehearsal.journal import Journal, JournalReader
from slurmpod.rehearsal.launch import LOCK_FILE, Host, clear_dead, keep_logs, running
from slurmpod.rehearsal.state import Request, State, write_request, write_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

REQUEST = Request(
    name="dev",
    environment_file="/environments/dev.yaml",
    account="123456789012",
    region="us-west-2",
    environment={},
    policies={},
    cloud_only=True,
    image="",
    port=None,
    lifetime_seconds=60,
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLURMPOD_HOME", str(tmp_path))
    return tmp_path


def rehearsal_folder(name: str) -> Path:
    folder = rehearsals() / name
    folder.mkdir(parents=True)
    (folder / LOCK_FILE).touch()
    write_request(folder, REQUEST)
    write_state(folder, State(pid=1, endpoint="http://localhost:1", kept=True))
    return folder


@pytest.fixture
def alive() -> Iterator[Path]:
    folder = rehearsal_folder("dev-alive")
    with (folder / LOCK_FILE).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


class TestStart:
    @pytest.mark.parametrize(
        ("module", "function"),
        [(fcntl, "flock"), (launch, "write_request"), (subprocess, "Popen")],
    )
    def test_an_interrupted_start_leaves_no_folder(
        self, module: ModuleType, function: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = getattr(module, function)
        interruptions = [KeyboardInterrupt]

        def interrupted_once(*arguments: object, **more: object) -> object:
            if interruptions:
                raise interruptions.pop()
            return original(*arguments, **more)

        monkeypatch.setattr(module, function, interrupted_once)
        with pytest.raises(KeyboardInterrupt):
            Host.start(REQUEST)
        assert list(rehearsals().iterdir()) == []


class TestDeadAndAlive:
    def test_only_the_dead_are_cleared(self, alive: Path) -> None:
        dead = rehearsal_folder("dev-dead")
        assert clear_dead() == ("dev-dead",)
        assert alive.exists()
        assert not dead.exists()

    def test_only_the_alive_run(self, alive: Path) -> None:
        rehearsal_folder("dev-dead")
        assert [rehearsal.folder for rehearsal in running()] == [alive]

    def test_a_folder_that_is_being_made_is_left_alone(self) -> None:
        (rehearsals() / "dev-new").mkdir(parents=True)
        assert clear_dead() == ()
        assert (rehearsals() / "dev-new").exists()


def test_kept_logs_replace_those_of_the_failure_before(home: Path) -> None:
    first, second = rehearsal_folder("dev-1"), rehearsal_folder("dev-2")
    (first / "old.log").write_text("old")
    (second / "lifecycle").mkdir()
    (second / "lifecycle/ip-10-0-0-4.log").write_text("new")
    keep_logs(first)
    logs = keep_logs(second)
    assert [path.relative_to(logs).as_posix() for path in logs.rglob("*.log")] == [
        "lifecycle/ip-10-0-0-4.log"
    ]


class TestJournal:
    def test_events_are_read_once_in_their_order(self, home: Path) -> None:
        reader, journal = JournalReader(home), Journal(home)
        assert list(reader.new_events()) == []
        journal.note("ip-10-0-0-4", "booted")
        journal.note("ip-10-0-0-4", 'says "hello"\nand goes on')
        assert [(event.subject, event.what) for event in reader.new_events()] == [
            ("ip-10-0-0-4", "booted"),
            ("ip-10-0-0-4", 'says "hello"\nand goes on'),
        ]
        assert list(reader.new_events()) == []

    def test_a_line_that_is_being_written_waits(self, home: Path) -> None:
        reader, journal = JournalReader(home), Journal(home)
        journal.note("dev", "whole")
        with (home / "journal.jsonl").open("a") as file:
            file.write('{"at_seconds": 1.0, "subject": "dev", ')
            file.flush()
            assert [event.what for event in reader.new_events()] == ["whole"]
            file.write('"what": "late"}\n')
        assert [event.what for event in reader.new_events()] == ["late"]
