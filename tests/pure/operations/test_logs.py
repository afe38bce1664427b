"""Logs: which nodes and times are meant, in which order they come, and what never gets out."""

from __future__ import annotations

import json
import stat
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.cli import logs, main
from slurmpod.cli.times import parse_time
from slurmpod.operations.logs.archive import write_archive
from slurmpod.operations.logs.lines import Kind, node_command
from slurmpod.operations.logs.redaction import redacted
from slurmpod.problems import ExitCode
from tests.pure.operations.cluster_at_work import NOW, Cluster
from tests.sound_environment import SOUND

KEY = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n"
    "-----END OPENSSH PRIVATE KEY-----"
)
SECRETS = {
    "AKIAIOSFODNN7EXAMPLE": "aws: using AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY used",
    "FwoGZXIvYXdzEBYaD": 'AWS_SESSION_TOKEN="FwoGZXIvYXdzEBYaD"',
    "hunter2": "StoragePass=hunter2",
    "tr0ub4dor": '{"db_password": "tr0ub4dor", "user": "slurm"}',
    "correct-horse": "mysql --password correct-horse -u slurm",
    "battery": "https://bob:battery@example.com/x",
    "hf_abcdefghijklmnopqrstuvwxyz": "export HF=hf_abcdefghijklmnopqrstuvwxyz",
    "ghp_0123456789abcdefghij0123456789": "git clone with ghp_0123456789abcdefghij0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln": (
        "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln"
    ),
    "5d4c3b2a": "GET /o?X-Amz-Date=1&X-Amz-Signature=5d4c3b2a&x=1",
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU": KEY,
}
HARMLESS = (
    "slurmd: Launching batch job 7 for UID 1000",
    "secret_arn: arn:aws:secretsmanager:us-west-2:123456789012:secret:x-AbCdEf",
    "error: auth_munge: invalid credential",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "update_node: node ip-10-0-1-3 reason set to: slurmpod: GPU 3 is gone",
)


class TestSecrets:
    @pytest.mark.parametrize(("secret", "text"), SECRETS.items())
    def test_are_not_shown(self, secret: str, text: str) -> None:
        shown = "\n".join(redacted(text.splitlines()))
        assert secret not in shown
        assert "(not shown: it " in shown

    @pytest.mark.parametrize("text", HARMLESS)
    def test_what_is_none_is_shown(self, text: str) -> None:
        assert redacted([text]) == [text]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("30m", NOW - timedelta(minutes=30)),
        ("3d", NOW - timedelta(days=3)),
        ("2026-11-23T14:00", datetime(2026, 11, 23, 14, tzinfo=UTC)),
        ("2026-11-23T14:00+02:00", datetime(2026, 11, 23, 12, tzinfo=UTC)),
        ("yesterday", None),
        ("-1h", None),
    ],
)
def test_times_are_said_by_how_long_ago_or_by_the_clock(text: str, moment: datetime | None) -> None:
    assert parse_time(text, NOW) == moment


class Command:
    """The command on an environment whose nodes have a few lines each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.cluster = Cluster()
        for number in range(5):
            ago = datetime.now(UTC) - timedelta(minutes=9 - number)
            self.cluster.answers_of[f"i-{number}"] = {
                "zone": "+0000\n",
                "slurmd": f"[{ago:%Y-%m-%dT%H:%M:%S}.5] line of i-{number}\nit goes on\n",
                "state": "JobId=7 NodeList=ip-10-0-1-[2-3] BatchHost=ip-10-0-1-2\n",
            }
        self.folder = folder
        self.file = folder / "dev.yaml"
        self.file.write_text(SOUND)
        account = SimpleNamespace(id=lambda: "123456789012")
        monkeypatch.setattr(logs, "AwsAccount", lambda _: account)
        monkeypatch.setattr(logs, "clients_of", lambda _: self.cluster.clients())
        monkeypatch.setattr(logs, "NodeSessions", lambda _: self.cluster.sessions())

    def __call__(self, *options: str) -> int:
        return main.run(["logs", str(self.file), *options])


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    return Command(monkeypatch, tmp_path)


def texts(output: str) -> list[str]:
    return [line.split(" ", 2)[2] for line in output.splitlines()]


def test_without_a_choice_the_controller_is_meant(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command() == ExitCode.OK
    assert texts(capsys.readouterr().out) == [
        "ip-10-0-0-4 slurmd: line of i-0",
        "ip-10-0-0-4 slurmd: it goes on",
    ]


def test_lines_of_a_job_come_from_its_nodes_in_the_order_of_time(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--job", "7", "--kind", "slurm") == ExitCode.OK
    lines = texts(capsys.readouterr().out)
    assert lines[0::2] == ["ip-10-0-1-2 slurmd: line of i-2", "ip-10-0-1-3 slurmd: line of i-3"]


def test_lifecycle_logs_need_no_session(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.cluster.log_lines["LifecycleConfig/workers/i-1"] = ["OK: worker is set up"]
    assert command("--group", "workers", "--kind", "lifecycle", "--since", "90d") == ExitCode.OK
    until = capsys.readouterr().out
    assert command.cluster.asked["session"] == 0
    assert "lifecycle: OK: worker is set up" in until


def test_nodes_that_do_not_answer_are_named_and_the_rest_is_shown(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.cluster.nodes = (
        *command.cluster.nodes[:2],
        ("workers", "i-9", "10.0.1.9", "Failure", ""),
    )
    command.cluster.refuse("filter_log_events", "AccessDeniedException")
    assert command("--group", "workers") == ExitCode.OK
    said = capsys.readouterr()
    assert "line of i-1" in said.out
    assert "not read: ip-10-0-1-9: SageMaker says Failure" in said.err
    assert "not read: CloudWatch: cannot read the log group" in said.err
    assert command.cluster.asked["session"] == 1


def test_following_prints_what_is_new_once(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = iter(range(2))

    def wait(_: float) -> None:
        now = f"[{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.5]"
        command.cluster.answers_of["i-0"]["slurmd"] += f"{now} another\n"
        if next(looks):
            raise KeyboardInterrupt

    monkeypatch.setattr(logs, "sleep", wait)
    assert command("--follow") == ExitCode.INTERRUPTED
    lines = texts(capsys.readouterr().out)
    assert lines.count("ip-10-0-0-4 slurmd: line of i-0") == 1
    assert lines.count("ip-10-0-0-4 slurmd: another") == 1


def test_an_archive_has_a_file_for_each_log_and_no_secret(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    stamp = f"[{datetime.now(UTC) - timedelta(minutes=1):%Y-%m-%dT%H:%M:%S}.5]"
    for text in SECRETS.values():
        command.cluster.answers_of["i-1"]["slurmd"] += f"{stamp} {text}\n"
    archive = command.folder / "case.tar.gz"
    assert command("--group", "workers", "--export", str(archive)) == ExitCode.OK
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    found = dict(contents(archive))
    assert set(found) == {
        "case/about.json",
        *(f"case/ip-10-0-1-{number}/slurmd.log" for number in range(1, 5)),
    }
    for secret in SECRETS:
        assert all(secret not in text for text in found.values()), secret
    assert "line of i-1" in found["case/ip-10-0-1-1/slurmd.log"]
    assert json.loads(found["case/about.json"])["environment"] == "dev"
    assert "review it before you share it" in capsys.readouterr().err


def contents(archive: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(archive) as files:
        for each in files.getmembers():
            content = files.extractfile(each)
            assert content
            yield each.name, content.read().decode()


def test_an_archive_that_is_there_is_kept(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = command.folder / "case.tar.gz"
    archive.write_text("mine")
    assert command("--export", str(archive)) == ExitCode.USAGE
    assert "already exists" in capsys.readouterr().err
    assert archive.read_text() == "mine"


def test_of_an_archive_that_is_cut_off_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tarfile.TarFile, "addfile", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_archive(tmp_path / "case.tar.gz", {"a": "b"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--since", "yesterday"), "write 30m, 2h, 3d"),
        (("--since", "1h", "--until", "2h"), "is not before --until"),
        (("--job", "x;y"), "write a job number"),
        (("--export", "case.zip"), "must end with .tar.gz"),
        (("--export", "/nowhere/case.tar.gz"), "the folder /nowhere does not exist"),
        (("--group", "nope"), "has no group 'nope'"),
    ],
)
def test_mistakes_are_told_before_anybody_is_asked(
    command: Command, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], says: str
) -> None:
    assert command(*options) == ExitCode.USAGE
    assert says in capsys.readouterr().err
    assert not command.cluster.asked


def test_a_node_that_is_none_is_told(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--node", "nope") == ExitCode.FAILED
    assert "dev has no node nope" in capsys.readouterr().err


def test_lines_of_the_second_that_has_begun_are_asked_for() -> None:
    until = NOW + timedelta(milliseconds=900)
    assert f"@{int(NOW.timestamp()) + 1} " in node_command([Kind.SLURM], NOW, until)
