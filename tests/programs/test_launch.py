"""The folders of rehearsals: whose are cleared, and what is read from a journal being written."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from slurmpod.rehearsal import processes
from slurmpod.rehearsal.processes import (
    LOCK_FILE,
    START_TIMEOUT_SECONDS,
    Host,
    Rehearsal,
    RehearsalFailed,
    UnknownRehearsal,
    clear_dead,
    end,
    keep_logs,
    running,
    uncleared,
)
from slurmpod.rehearsal.state import (
    HOST_FILE,
    REQUEST_FILE,
    STATE_FILE,
    Journal,
    JournalReader,
    Request,
    State,
    read_pid,
    rehearsals,
    write_pid,
    write_request,
    write_state,
)
from tests.golden_files import ROOT

StartHost = Callable[[str], tuple[Path, subprocess.Popen[str]]]
Mount = Callable[[Path], contextlib.ExitStack]

FILE_SYSTEM_BYTES = 64 * 1024

REQUEST = Request(
    name="dev",
    environment_file="/environments/dev.yaml",
    account="123456789012",
    region="us-west-2",
    cloud_only=True,
    image="",
    port=None,
    lifetime_seconds=60,
    profile={},
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


@pytest.fixture
def start_host() -> Iterator[StartHost]:
    """Start processes that hold the lock of a rehearsal as its host does; they do nothing else."""
    processes = []

    def start(preparation: str) -> tuple[Path, subprocess.Popen[str]]:
        folder = rehearsal_folder("dev-kept")
        script = f"import signal\n{preparation}\nprint(flush=True)\nsignal.pause()"
        with (folder / LOCK_FILE).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen(
                [sys.executable, "-c", script],
                pass_fds=[lock.fileno()],
                stdout=subprocess.PIPE,
                text=True,
            )
        processes.append(process)
        assert process.stdout
        process.stdout.readline()
        write_pid(folder, process.pid)
        return folder, process

    yield start
    for process in processes:
        with process:
            process.kill()


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mount empty file systems; returns what unmounts one when it is closed."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    with contextlib.ExitStack() as mounted:

        def mount_at(path: Path) -> contextlib.ExitStack:
            path.mkdir(parents=True)
            options = f"size={FILE_SYSTEM_BYTES}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], check=True)
            unmount = mounted.enter_context(contextlib.ExitStack())
            unmount.callback(lambda: subprocess.run(["umount", path], check=True))
            return unmount

        yield mount_at


@pytest.fixture
def full_disk(home: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the home on a full disk."""
    disk = home / "disk"
    mount(disk)
    (disk / "big").write_bytes(bytes(FILE_SYSTEM_BYTES))
    monkeypatch.setenv("SLURMPOD_HOME", str(disk))


class TestStart:
    @pytest.mark.parametrize(
        ("module", "function"),
        [
            (fcntl, "flock"),
            (processes, "write_request"),
            (subprocess, "Popen"),
            (processes, "write_pid"),
        ],
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

    @pytest.mark.usefixtures("full_disk")
    def test_a_full_disk_is_one_line_that_names_the_file(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = str(ROOT / "environments/dev.yaml")
        assert run(["rehearse", file, "--cloud-only"]) == ExitCode.FAILED
        (line,) = capsys.readouterr().err.splitlines()
        place = rf"{rehearsals()}/dev-\w+/request\.json"
        assert re.fullmatch(f"slurmpod: No space left on device: {place}", line)
        assert list(rehearsals().iterdir()) == []


class TestDeadAndAlive:
    def test_only_the_dead_are_cleared(self, alive: Path) -> None:
        dead = rehearsal_folder("dev-dead")
        assert clear_dead() == ("dev-dead",)
        assert alive.exists()
        assert not dead.exists()

    def test_only_the_alive_run(self, alive: Path) -> None:
        rehearsal_folder("dev-dead")
        (rehearsal,) = running()
        assert isinstance(rehearsal, Rehearsal)
        assert rehearsal.folder == alive

    def test_a_folder_that_is_being_made_is_left_alone(self) -> None:
        (rehearsals() / "dev-new").mkdir(parents=True)
        assert clear_dead() == ()
        assert (rehearsals() / "dev-new").exists()

    def test_what_an_interrupted_removal_left_is_dead_after_a_while(self) -> None:
        folder = rehearsal_folder("dev-half")
        (folder / LOCK_FILE).unlink()
        long_ago = time.time() - START_TIMEOUT_SECONDS - 1
        os.utime(folder, (long_ago, long_ago))
        assert clear_dead() == ("dev-half",)
        assert not folder.exists()

    def test_what_cannot_be_removed_is_named_until_it_can(self, mount: Mount) -> None:
        folder = rehearsal_folder("dev-dead")
        (folder / "nodes").mkdir()
        (folder / "nodes/link").symlink_to("/")
        mounted = mount(folder / "data")
        assert clear_dead() == ()
        (problem,) = uncleared()
        assert problem == (
            f"{folder} cannot be removed: {folder / 'data'}: Device or resource busy"
        )
        assert run(["rehearsal", "down"]) == ExitCode.FAILED
        assert {path.name for path in folder.iterdir()} >= {LOCK_FILE, "data"}
        mounted.close()
        assert clear_dead() == ("dev-dead",)


class TestEnd:
    def test_a_process_that_does_not_listen_is_killed(
        self, start_host: StartHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(processes, "END_TIMEOUT_SECONDS", 0.2)
        folder, process = start_host("signal.signal(signal.SIGTERM, signal.SIG_IGN)")
        end(folder)
        assert process.wait() == -signal.SIGKILL
        assert not folder.exists()

    def test_a_file_system_in_the_folder_is_named_instead_of_waiting_for_ever(
        self, start_host: StartHost, mount: Mount, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(processes, "REMOVE_TIMEOUT_SECONDS", 0.2)
        lock = rehearsals() / "dev-kept" / LOCK_FILE
        folder, process = start_host(
            "import os\n"
            f"signal.signal(signal.SIGTERM, lambda *_: (os.remove({str(lock)!r}), os._exit(0)))"
        )
        mount(folder / "data")
        with pytest.raises(RehearsalFailed, match=f"{folder}/data: Device or resource busy"):
            end(folder)
        assert process.wait() == 0
        assert running() == ()
        assert len(uncleared()) == 1

    def test_a_process_that_is_not_the_hosts_is_not_signalled(self) -> None:
        folder = rehearsal_folder("dev-dead")
        with subprocess.Popen(["sleep", "60"]) as other:
            write_pid(folder, other.pid)
            end(folder)
            assert other.poll() is None
            other.kill()
        assert not folder.exists()

    def test_who_clears_a_dead_rehearsal_does_not_pass_for_its_host(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = []

        def clear_slowly(folder: Path) -> None:
            seen.append((running(), read_pid(folder)))

        monkeypatch.setattr(processes, "clear_if_dead", clear_slowly)
        write_pid(rehearsal_folder("dev-dead"), os.getpid())
        assert clear_dead() == ("dev-dead",)
        assert seen == [((), None)]

    def test_an_unknown_process_is_an_error_and_not_a_wait_for_ever(
        self, alive: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(processes, "END_TIMEOUT_SECONDS", 0.1)
        monkeypatch.setattr(processes, "KILL_TIMEOUT_SECONDS", 0.1)
        (alive / STATE_FILE).write_text("")
        with pytest.raises(RehearsalFailed, match=f"still holds {alive / LOCK_FILE}"):
            end(alive)
        assert alive.exists()


DAMAGED = [
    (STATE_FILE, ""),
    (STATE_FILE, '{"pid": 1, "endp'),
    (STATE_FILE, "[]"),
    (REQUEST_FILE, '{"name": "dev", "of_another_version": true}'),
]


@pytest.mark.parametrize(("file", "content"), DAMAGED)
class TestUnreadable:
    def test_a_dead_one_is_cleared(self, file: str, content: str) -> None:
        folder = rehearsal_folder("dev-dead")
        (folder / file).write_text(content)
        assert run(["rehearsal", "list"]) == ExitCode.OK
        assert run(["rehearsal", "down"]) == ExitCode.OK
        assert not folder.exists()

    def test_a_live_one_is_shown_as_such(
        self, alive: Path, file: str, content: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (alive / file).write_text(content)
        problem = f"{file} is damaged or was written by another version of slurmpod"
        assert running() == (UnknownRehearsal(alive, problem),)
        assert run(["rehearsal", "list"]) == ExitCode.OK
        assert capsys.readouterr().out == f"dev-alive  damaged, take it down: {problem}\n"
        assert run(["rehearsal", "list", "--json"]) == ExitCode.OK
        assert json.loads(capsys.readouterr().out) == [{"id": "dev-alive", "problem": problem}]
        assert run(["rehearsal", "env"]) == ExitCode.FAILED
        assert "slurmpod rehearsal down --id dev-alive" in capsys.readouterr().err

    def test_a_live_one_can_be_ended(self, start_host: StartHost, file: str, content: str) -> None:
        folder, process = start_host("")
        (folder / file).write_text(content)
        assert run(["rehearsal", "down"]) == ExitCode.OK
        assert process.wait() == -signal.SIGTERM
        assert not folder.exists()


def test_the_process_of_another_version_is_known_from_its_state(alive: Path) -> None:
    (alive / STATE_FILE).write_text('{"pid": 4711, "of_another_version": true}')
    assert read_pid(alive) == 4711


@pytest.mark.parametrize("pid", [-1, 0, 1, "4711", None])
def test_what_is_no_process_is_never_signalled(alive: Path, pid: object) -> None:
    for name in (HOST_FILE, STATE_FILE):
        (alive / name).write_text(json.dumps({"pid": pid}))
    assert read_pid(alive) is None


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

    def test_nodes_of_another_network_are_told_apart_by_their_cluster(self, home: Path) -> None:
        journal, first = Journal(home), "ip-10-0-0-4"
        for within in ("", "twin"):
            journal.within(within).note(first, "booted")
        journal.within("twin").note("twin", "is in service")
        subjects = [event.subject for event in JournalReader(home).new_events()]
        assert subjects == [first, f"twin/{first}", "twin"]

    def test_a_line_that_is_being_written_waits(self, home: Path) -> None:
        reader, journal = JournalReader(home), Journal(home)
        journal.note("dev", "whole")
        with (home / "journal.jsonl").open("a") as file:
            file.write('{"at_seconds": 1.0, "subject": "dev", ')
            file.flush()
            assert [event.what for event in reader.new_events()] == ["whole"]
            file.write('"what": "late"}\n')
        assert [event.what for event in reader.new_events()] == ["late"]
