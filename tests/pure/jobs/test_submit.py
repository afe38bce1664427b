"""Jobs on their way to a cluster: copied, submitted and followed, in sessions that get lost."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli import job_on_cluster
from slurmpod.cli.job_on_cluster import run
from slurmpod.operations.cluster_jobs import UnknownJob, WholeArray, look, news, submit
from slurmpod.operations.copying.copier import Copier
from slurmpod.operations.copying.copy_job import Comparison, copy_job
from slurmpod.operations.job_folder import NoJob, read_job_folder
from slurmpod.operations.node_shell import (
    CommandFailed,
    LastingShell,
    NoAnswer,
    read_output,
)
from slurmpod.problems import ExitCode, WorkFailed
from tests.pure.jobs.local_shell import SHOWN, LocalShell
from tests.sound_environment import SOUND

WELL = "a{}|allocated|allocated+cloud|Unknown|Unknown|none|"
GONE = "a2|down*|down+cloud+not_responding|slurm|2026-01-01T00:00:00|Not responding|"


class TestShell:
    def test_what_is_printed_comes_back_as_it_is(self, shell: LocalShell) -> None:
        assert shell.run("printf 'a b\\n\\n  ü\"'; echo err >&2") == 'a b\n\n  ü"err\n'

    def test_a_command_that_fails_says_why(self, shell: LocalShell) -> None:
        with pytest.raises(CommandFailed, match=r"^no such thing$"):
            shell.run("echo no such thing; exit 3")

    @pytest.mark.parametrize("why", [NoAnswer("nothing"), AwsUnavailable("TargetNotConnected")])
    def test_a_node_that_gives_no_answer_is_looked_for_again(
        self, shell: LocalShell, why: WorkFailed
    ) -> None:
        connected = []

        def connect() -> LocalShell:
            connected.append(shell)
            return shell

        lasting = LastingShell(connect)
        assert lasting.run("echo 1") == lasting.run("echo 1") == "1\n"
        shell.refusals = [why]
        with pytest.raises(type(why)):
            lasting.run("echo 2")
        assert lasting.run("echo 3") == "3\n"
        assert len(connected) == 2

    @pytest.mark.parametrize(
        "output",
        [
            "",
            "TargetNotConnected",
            "slurmpod-begins\nYQ==\n",
            "slurmpod-begins\nx\nslurmpod-ends\n",
        ],
    )
    def test_a_session_that_breaks_is_no_answer(self, output: str) -> None:
        with pytest.raises(NoAnswer):
            read_output(output)


class TestFolder:
    def test_scripts_that_belong_to_another_one_are_submitted_by_it(self, tmp_path: Path) -> None:
        for name in ("llama.sbatch", "llama-compile.sbatch", "llama-prepare.sbatch"):
            (tmp_path / name).write_text("#!/bin/sh\n#SBATCH --chdir=/fsx/llama\n")
        (tmp_path / "submit.sh").touch()
        job = read_job_folder(tmp_path)
        assert (job.script, job.starter) == ("llama.sbatch", "submit.sh")

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({}, "must have one batch script .*, it has none"),
            ({"a.sbatch": "#!/bin/sh\n", "b.sbatch": "#!/bin/sh\n"}, "it has a.sbatch, b.sbatch"),
            ({"a.sbatch": "#!/bin/sh\n"}, "add #SBATCH --chdir=/fsx"),
        ],
    )
    def test_what_is_no_job(self, files: dict[str, str], message: str, tmp_path: Path) -> None:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        with pytest.raises(NoJob, match=message):
            read_job_folder(tmp_path)

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(NoJob, match="is not a folder"):
            read_job_folder(tmp_path / "missing")


class TestFollowed:
    def test_each_look_has_what_is_new_of_the_log(self, shell: LocalShell) -> None:
        shell.shows("RUNNING")
        shell.log.write_text("step 1\n")
        first = look(shell, "12")
        shell.log.write_bytes(b"step 1\nstep 2 \xff\n")
        second = look(shell, "12", first)
        assert (first.log, second.log) == (b"step 1\n", b"step 2 \xff\n")
        assert look(shell, "12", second).log == b""

    def test_a_log_that_a_restart_empties_is_read_from_its_beginning(
        self, shell: LocalShell
    ) -> None:
        shell.shows("RUNNING")
        shell.log.write_text("step 1\nstep 2\n")
        first = look(shell, "12")
        shell.shows("RUNNING", restarts=1)
        shell.log.write_text("step 1\n")
        second = look(shell, "12", first)
        assert second.log == b"step 1\n"
        assert list(news(first, second)) == [
            "restart 1 of the job",
            "its log was truncated, and is read from the start",
        ]
        shell.log.unlink()
        third = look(shell, "12", second)
        shell.log.write_text("step 1\nstep 2\n")
        assert look(shell, "12", third).log == b"step 2\n"

    @pytest.mark.parametrize("tasks", [{"3": "RUNNING", "1": "COMPLETED"}, {"3": "FAILED"}])
    def test_an_array_has_no_state_of_its_own(
        self, shell: LocalShell, tasks: dict[str, str]
    ) -> None:
        shell.shows_array(tasks)
        with pytest.raises(WholeArray, match=r"^job 12 is an array .*: give one, such as 12_3$"):
            look(shell, "12")

    def test_of_a_job_with_parts_the_first_is_shown(self, shell: LocalShell) -> None:
        first, second = (
            SHOWN.format(state=state, nodes="a1", restarts=0, reason="None", log=shell.log)
            for state in ("RUNNING", "COMPLETED")
        )
        shell.shows_records(first, second.replace("=12", "=13"))
        assert look(shell, "12").state == "RUNNING"

    def test_a_job_that_slurm_does_not_know(self, shell: LocalShell) -> None:
        shell.shows("RUNNING")
        with pytest.raises(UnknownJob, match="Slurm does not know job 13"):
            look(shell, "13")

    def test_what_happens_to_it_is_told_once(self, shell: LocalShell) -> None:
        told = []
        before = None
        for state, nodes, restarts, sinfo in (
            ("PENDING", "(null)", 0, ""),
            ("RUNNING", "a[1-2]", 0, ""),
            ("RUNNING", "a[1-2]", 0, f"{WELL.format(1)}\n{GONE}"),
            ("RUNNING", "a[1-2]", 0, f"{WELL.format(1)}\n{GONE}"),
            ("RUNNING", "a[1-2]", 1, f"{WELL.format(1)}\n{WELL.format(2)}"),
            ("COMPLETED", "a[1-2]", 1, ""),
        ):
            reason = "Resources" if state == "PENDING" else "None"
            shell.shows(state, nodes=nodes, restarts=restarts, reason=reason)
            shell.add("sinfo", f"cat <<E\n{sinfo}\nE")
            now = look(shell, "12", before)
            told.append(list(news(before, now)))
            before = now
        assert told == [
            ["pending (Resources)"],
            ["running on a[1-2]"],
            ["node a2 down* Not responding"],
            [],
            ["restart 1 of the job", "node a2 is back"],
            ["completed"],
        ]


class TestCommand:
    @pytest.fixture
    def rendered(self, tmp_path: Path) -> Path:
        (tmp_path / "dev.yaml").write_text(SOUND)
        (tmp_path / "job").mkdir()
        (tmp_path / "job" / "x.sbatch").write_text(
            "#!/bin/bash\n#SBATCH --partition=cpu --chdir=/fsx/x --output=/fsx/x/%j.out\nhostname\n"
        )
        return tmp_path / "job"

    @pytest.fixture(autouse=True)
    def _in_sessions(self, shell: LocalShell, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(job_on_cluster, "PAUSE_SECONDS", 0.0)
        monkeypatch.setattr(job_on_cluster, "shell_for", lambda *_: shell)
        monkeypatch.setattr(Copier, "compare", lambda _: Comparison((), frozenset(), is_whole=True))

    def options(self, action: str, tmp_path: Path, **more: Any) -> argparse.Namespace:
        usual: dict[str, Any] = {
            "user": "ubuntu",
            "file": tmp_path / "dev.yaml",
            "job": "12",
            "json": False,
        }
        submits: dict[str, Any] = {
            "python": None,
            "env": [],
            "env_file": None,
            "secret": [],
            "yes": False,
            "no_follow": False,
            "after_dashes": [],
        }
        follows: dict[str, Any] = {"follow": True, "folder": tmp_path / "job", "action": action}
        return argparse.Namespace(**{**usual, **submits, **follows, **more})

    def test_a_job_is_submitted_and_followed_to_its_end(
        self,
        shell: LocalShell,
        rendered: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        shell.log.write_text("hello\n")
        shell.shows("COMPLETED")

        def submit_here(
            shell: LocalShell, job: object, arguments: list[str], variables: dict[str, str]
        ) -> str:
            assert arguments == ["--steps", "5"]
            assert variables == {"WORLD": "a b", "PYTHON": "/fsx/python"}
            return "12"

        monkeypatch.setattr(job_on_cluster, "submit", submit_here)
        more: dict[str, Any] = {"after_dashes": ["--steps", "5"], "python": "/fsx/python"}
        more["env"] = ["WORLD=a b"]
        assert run(self.options("submit", tmp_path, **more)) == ExitCode.OK
        shown = capsys.readouterr()
        assert shown.out == "hello\n"
        assert "submitted job 12\n[job 12: completed]\n" in shown.err

    def test_sbatch_is_given_the_arguments(
        self, shell: LocalShell, folder: Path, tmp_path: Path
    ) -> None:
        job = read_job_folder(folder)
        copy_job(shell, job)
        variables = {"PYTHON": "/fsx/python", "MORE": "$x; y"}
        shell.add("sbatch", f'echo "$PYTHON $MORE $*" >> {tmp_path}/submitted; echo 12')
        assert submit(shell, job, ["--name", "a b"], variables) == "12"
        given = (tmp_path / "submitted").read_text()
        assert given == f"/fsx/python $x; y --parsable {job.place}/mine.sbatch --name a b\n"

    def test_a_script_that_takes_no_secrets_is_not_submitted_with_one(
        self,
        shell: LocalShell,
        rendered: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        told: list[dict[str, str]] = []

        def submit_here(*given: Any) -> str:
            told.append(given[-1])
            return "12"

        monkeypatch.setattr(job_on_cluster, "submit", submit_here)
        arn = "arn:aws:secretsmanager:us-west-2:123456789012:secret:token-AbCdEf"
        environment = tmp_path / "dev.yaml"
        allowed = f"identity: {{job_secrets: [{{secret_arn: '{arn}'}}]}}\n"
        environment.write_text(environment.read_text() + allowed)
        more = {"secret": [f"TOKEN={arn}"]}
        assert run(self.options("submit", tmp_path, **more)) == ExitCode.USAGE
        assert "x.sbatch takes no secrets: it does not source secrets.sh" in capsys.readouterr().err
        (rendered / "secrets.sh").write_text("")
        script = rendered / "x.sbatch"
        script.write_text(script.read_text() + "source ./secrets.sh\n")
        shell.shows("COMPLETED")
        assert run(self.options("submit", tmp_path, **more)) == ExitCode.OK
        assert told == [{"SLURMPOD_SECRETS": f"TOKEN={arn}"}]

    def test_an_array_is_followed_by_the_job_after_it(
        self, shell: LocalShell, folder: Path
    ) -> None:
        (folder / "submit.sh").write_text("echo array 12, followed by job 13\n")
        (folder / "mine-after.sbatch").write_text("#!/bin/bash\n")
        job = read_job_folder(folder)
        copy_job(shell, job)
        assert submit(shell, job, [], {}) == "13"

    def test_a_job_with_errors_is_not_copied(
        self, shell: LocalShell, rendered: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        script = rendered / "x.sbatch"
        script.write_text(script.read_text().replace("cpu", "gpu"))
        assert run(self.options("submit", tmp_path)) == ExitCode.INVALID
        assert "[JOB-040]" in capsys.readouterr().err
        assert shell.ran == []

    def test_nothing_is_overwritten_without_asking(
        self,
        shell: LocalShell,
        rendered: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        differing = Comparison(("x.sbatch",), frozenset({"1f"}), is_whole=False)
        monkeypatch.setattr(Copier, "compare", lambda _: differing)
        assert run(self.options("submit", tmp_path)) == ExitCode.FAILED
        said = capsys.readouterr().err
        assert "/fsx/x has different content in x.sbatch\nnothing was copied" in said
        assert not (tmp_path / "submitted").exists()

    def test_ctrl_c_leaves_the_job_running(
        self,
        shell: LocalShell,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        def interrupted(_: float) -> None:
            raise KeyboardInterrupt

        shell.shows("RUNNING")
        monkeypatch.setattr(time, "sleep", interrupted)
        assert run(self.options("logs", tmp_path)) == ExitCode.INTERRUPTED
        said = capsys.readouterr().err
        assert "[job 12: running on a[1-2]]\njob 12 continues\n" in said
        assert said.endswith(f"slurmpod job logs {tmp_path}/dev.yaml 12 --follow\n")
        assert not (tmp_path / "cancelled").exists()

    @pytest.mark.parametrize("more", [{}, {"follow": False}, {"follow": False, "json": True}])
    def test_the_log_of_an_array_is_asked_for_by_task(
        self,
        shell: LocalShell,
        tmp_path: Path,
        more: dict[str, bool],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        shell.shows_array({"3": "RUNNING", "1": "COMPLETED"})
        assert run(self.options("logs", tmp_path, **more)) == ExitCode.USAGE
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err == "job 12 is an array (tasks 3, 1): give one, such as 12_3\n"

    def test_after_an_array_is_submitted_the_way_to_a_task_is_told(
        self,
        shell: LocalShell,
        rendered: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        shell.shows_array({"0-7%2": "PENDING"})
        monkeypatch.setattr(job_on_cluster, "submit", lambda *_: "12")
        assert run(self.options("submit", tmp_path)) == ExitCode.FAILED
        said = capsys.readouterr().err
        assert "submitted job 12\njob 12 is an array (tasks 0-7%2)" in said
        assert said.endswith(f"slurmpod job logs {tmp_path}/dev.yaml 12_0 --follow\n")

    def test_a_lost_connection_loses_nothing(
        self, shell: LocalShell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shell.log.write_text("all of it\n")
        shell.shows("FAILED")
        shell.refusals = [NoAnswer("the node's answer is incomplete: nothing")] * 2
        assert run(self.options("logs", tmp_path)) == ExitCode.FAILED
        shown = capsys.readouterr()
        assert shown.out == "all of it\n"
        assert shown.err.count("job 12 continues; reconnecting") == 2

    def test_logs_and_status_and_cancel(
        self, shell: LocalShell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shell.log.write_bytes(b"x" * 250_000)
        shell.shows("RUNNING")
        assert run(self.options("logs", tmp_path, follow=False)) == ExitCode.OK
        assert len(capsys.readouterr().out) == 250_000
        assert run(self.options("status", tmp_path)) == ExitCode.OK
        shown = "12 x | y ubuntu RUNNING 1:05 a[1-2]"
        assert capsys.readouterr().out.split() == shown.split()
        assert run(self.options("cancel", tmp_path)) == ExitCode.OK
        assert (tmp_path / "cancelled").read_text() == "12\n"
