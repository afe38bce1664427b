"""`slurmpod report` as a command: what it writes, what it leaves alone, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmpod.cli import main, report
from slurmpod.problems import ExitCode, WorkFailed
from slurmpod.rehearsal.state import CHOSEN, note_fault, rehearsals
from tests.pure.cli.test_printed_commands import own_commands
from tests.pure.report.known import RUNS, known
from tests.sound_environment import SOUND


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An environment, in a folder of its own, that nobody can be asked about."""

    def refuse(*_: Any) -> Any:
        raise WorkFailed("there are no credentials")

    monkeypatch.setattr(report, "_record", refuse)
    monkeypatch.delenv(CHOSEN, raising=False)
    monkeypatch.setenv("SLURMPOD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("dev.yaml").write_text(SOUND)
    return "dev.yaml"


def test_without_credentials_the_page_shows_what_is_planned(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["report", file]) == ExitCode.OK
    assert "dev: what is planned" in Path("report.html").read_text()
    assert capsys.readouterr().err == (
        "report.html shows the plan; the current state is unknown: there are no credentials\n"
        "next: slurmpod preflight dev.yaml\n"
    )
    assert {each.name for each in Path().iterdir()} == {"dev.yaml", "report.html"}


def test_an_earlier_report_is_replaced(file: str) -> None:
    assert main.run(["report", file, "--out", "a.html"]) == ExitCode.OK
    first = Path("a.html").read_bytes()
    Path(file).write_text(SOUND.replace("name: dev", "name: lab"))
    assert main.run(["report", file, "--out", "a.html"]) == ExitCode.OK
    assert Path("a.html").read_bytes() != first


def test_a_file_of_somebody_else_stays_as_it_is(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("report.html").write_text("<html>mine</html>")
    assert main.run(["report", file]) == ExitCode.FAILED
    assert Path("report.html").read_text() == "<html>mine</html>"
    assert "is not a slurmpod report: choose another file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("out", "why"), [(".", ". is a folder: name a file"), ("no/such/a.html", "does not exist")]
)
def test_what_cannot_be_written_is_told_before_any_work(
    out: str, why: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).write_text("not: sound")
    assert main.run(["report", file, "--out", out]) == ExitCode.FAILED
    assert why in capsys.readouterr().err


def test_a_page_is_whole_or_not_there(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: Any, **__: Any) -> int:
        raise OSError(28, "No space left on device")

    assert main.run(["report", file]) == ExitCode.OK
    before = Path("report.html").read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    assert main.run(["report", file]) == ExitCode.FAILED
    assert Path("report.html").read_bytes() == before
    assert {each.name for each in Path().iterdir()} == {"dev.yaml", "report.html"}


def test_a_file_with_errors_has_no_page(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(file).write_text(SOUND.replace("us-west-2b", "us-east-1b"))
    assert main.run(["report", file]) == ExitCode.INVALID
    assert "REG-002" in capsys.readouterr().err
    assert not Path("report.html").exists()


def test_what_is_neither_a_file_nor_a_rehearsal_is_named(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["report", "dev-1a2b3c"]) == ExitCode.FAILED
    assert "no rehearsal 'dev-1a2b3c' runs; running: none" in capsys.readouterr().err


def test_json_has_the_facts_and_writes_nothing(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "_record", lambda *_: known().record)
    assert main.run(["report", file, "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert found["plan"]["name"] == "dev"
    assert [run["stack"] for run in found["record"]["runs"]] == [run.stack for run in RUNS]
    assert found["record"]["status"]["money"]["unread"].startswith("the environment has no")
    assert not Path("report.html").exists()


def test_in_a_shell_of_a_rehearsal_the_page_is_about_that(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHOSEN, "dev-1a2b3c")
    folder = rehearsals() / "dev-1a2b3c"
    folder.mkdir(parents=True)
    fault = {"name": "clock-skew", "title": "A clock", "noticed_seconds": None}
    moments = [{"seconds": 1.0, "stage": "recovered", "what": "all is well"}]
    note_fault(folder, {**fault, "recovered_seconds": 1.0, "lost": ["job 7"], "moments": moments})
    monkeypatch.setattr(report, "_record", lambda _, rehearsed: known(rehearsed=rehearsed).record)
    assert main.run(["report", file]) == ExitCode.OK
    page = Path("report.html").read_text()
    assert "dev: rehearsal dev-1a2b3c" in page
    assert "lost: job 7" in page


def test_what_the_page_of_documentation_prints_runs_as_printed(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("environments").mkdir()
    Path(file).rename("environments/dev.yaml")
    commands = [words for words in own_commands("docs/report.md") if words[1].endswith(".yaml")]
    reports = [words for words in commands if words[0] == "report"]
    assert [main.run(words) for words in reports] == [ExitCode.OK] * 3
    assert {path.name for path in Path().glob("*.html")} == {"report.html", "dev-monday.html"}
