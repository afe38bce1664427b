"""However a rehearsal ends, the user learns why and nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.nodes.folder import machines_cgroup
from slurmpod.rehearsal.processes import Host
from slurmpod.rehearsal.state import Request, read_state
from tests.checkout_copy import copy_checkout
from tests.nodes.conftest import (
    PATIENCE_SECONDS,
    PROJECT,
    Workplace,
    make_workplace,
    wait_until,
)
from tests.search_depth import cases

SMALL = """\
edition: 2026
name: small
account: "123456789012"
region: us-west-2
network: {zone: us-west-2b}
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.m5.xlarge, count: 1, partition: cpu}
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    """The path of an environment with as few nodes as a job needs."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return str(file)


def journal(workplace: Workplace) -> str:
    return "".join(path.read_text() for path in workplace.home.glob("rehearsals/*/journal.jsonl"))


def deployed(workplace: Workplace) -> str:
    return "".join(path.read_text() for path in workplace.home.glob("rehearsals/*/cdk-deploy.log"))


STAGES = {
    "starting": lambda workplace: bool(workplace.rehearsals()),
    "synthesizing": lambda workplace: any(workplace.home.glob("rehearsals/*/cdk-deploy.log")),
    "deploying": lambda workplace: "CREATE" in deployed(workplace),
    "running scripts": lambda workplace: "image_facts: done" in journal(workplace),
    "running the job": lambda workplace: "in service" in journal(workplace),
}


def mentioning(folder: Path, workplace: Workplace) -> list[str]:
    return [command for command in workplace.processes() if str(folder) in command]


def assert_nothing_left(workplace: Workplace) -> None:
    wait_until(lambda: workplace.rehearsals() == [], "end of the rehearsal's folder")
    wait_until(lambda: workplace.processes() == [], f"end of {workplace.processes()}")


def kept_host(environment: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave an empty rehearsal running, without a deployment; return its folder."""
    monkeypatch.setenv("SLURMPOD_HOME", str(home))
    request = Request(
        name="small",
        environment_file=environment,
        account="123456789012",
        region="us-west-2",
        cloud_only=True,
        image="",
        port=None,
        lifetime_seconds=10 * PATIENCE_SECONDS,
        profile={},
    )
    host = Host.start(request)
    host.wait_until_ready()
    host.keep()
    return host.folder


FEW = (
    (signal.SIGHUP, "starting"),
    (signal.SIGTERM, "deploying"),
    (signal.SIGINT, "running scripts"),
)
"""Before there is anything to take down, during a CDK command, and with nodes: the other stages
have to take down the same things. A command handles all three signals like Ctrl-C."""

ALSO = tuple((signal.SIGINT, stage) for stage in STAGES if stage != "running scripts")


class TestInterruption:
    @pytest.mark.parametrize(
        ("number", "stage"),
        cases(usual=FEW, deep=FEW + ALSO),
    )
    def test_leaves_nothing(
        self, workplace: Workplace, small: str, number: signal.Signals, stage: str
    ) -> None:
        with workplace.start("rehearse", small) as process:
            wait_until(lambda: STAGES[stage](workplace), stage)
            process.send_signal(number)
            _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 130
        assert stderr.rstrip().endswith("interrupted")
        assert "Traceback" not in stderr
        assert_nothing_left(workplace)


class TestDeath:
    def test_the_next_rehearsal_clears_what_a_dead_one_left_and_only_that(
        self, workplace: Workplace, small: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alive = kept_host(small, workplace.home, monkeypatch)
        with workplace.start("rehearse", small) as process:
            wait_until(lambda: STAGES["running scripts"](workplace), "machines")
            (dead,) = set(workplace.rehearsals()) - {alive}
            state = read_state(dead)
            assert state
            process.kill()
            os.kill(state.pid, signal.SIGKILL)
        wait_until(lambda: not mentioning(dead, workplace), "end of all processes of the dead")
        cgroup = machines_cgroup(dead)
        assert cgroup
        assert cgroup.exists()

        with workplace.start("rehearse", small, "--cloud-only") as process:
            wait_until(lambda: len(workplace.rehearsals()) == 2 and not dead.exists(), "the next")
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=PATIENCE_SECONDS)
        assert f"removed the remains of the dead rehearsal {dead.name}" in stderr
        wait_until(lambda: workplace.rehearsals() == [alive], "end of the interrupted one's folder")
        assert not cgroup.exists()
        assert alive.name in workplace.run("rehearsal", "list").stdout
        assert workplace.run("rehearsal", "down").returncode == 0
        assert_nothing_left(workplace)

    def test_nothing_is_left_when_only_the_command_is_killed(
        self, workplace: Workplace, small: str
    ) -> None:
        with workplace.start("rehearse", small) as process:
            wait_until(lambda: STAGES["running scripts"](workplace), "machines")
            process.kill()
        wait_until(lambda: workplace.processes() == [], "all processes of the rehearsal end")
        wait_until(lambda: workplace.rehearsals() == [], "the folder goes")


class TestFailure:
    def test_a_failing_script_reaches_the_person_who_deploys(
        self, image: Path, tmp_path: Path, small: str
    ) -> None:
        project = tmp_path / "project"
        copy_checkout(project)
        for kept_outside in (".venv", "node_modules"):
            (project / kept_outside).symlink_to(PROJECT / kept_outside)
        (project / "lifecycle_scripts/on_init_complete.sh").write_text(
            "#!/bin/bash\necho preparing\n"
            "echo 'FAILED: license: the license server refuses; fix: renew it' >&2\nexit 7\n"
        )
        workplace = make_workplace(tmp_path, project)
        result = workplace.run("rehearse", small)
        assert result.returncode == 1
        assert "Lifecycle scripts did not run successfully" in result.stderr
        assert "FAILED: license: the license server refuses; fix: renew it" in result.stderr
        assert "Traceback" not in result.stderr
        logs = workplace.home / "last-failure"
        assert f"logs: {logs}" in result.stderr
        assert "ROLLBACK" in (logs / "cdk-deploy.log").read_text()
        assert any("preparing" in log.read_text() for log in logs.glob("lifecycle/*.log"))
        assert_nothing_left(workplace)


class TestRefusal:
    """Before anything starts: commands that this process can run."""

    @pytest.mark.parametrize("port", ["0", "99999", "-1", "http"])
    def test_a_port_that_is_none_is_refused(
        self, small: str, port: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["rehearse", small, "--cloud-only", f"--port={port}"]) == ExitCode.USAGE
        assert f"'{port}' is not a port: a number from 1 to 65535" in capsys.readouterr().err

    def test_a_port_in_use_is_named(self, workplace: Workplace, small: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            result = workplace.run("rehearse", small, "--cloud-only", "--port", str(port))
        assert result.returncode == 1
        assert str(port) in result.stderr
        assert "in use" in result.stderr
        assert "Traceback" not in result.stderr
        assert_nothing_left(workplace)

    def test_missing_debian_packages_are_named_with_the_command(
        self,
        small: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        bare = tmp_path / "bin"
        bare.mkdir()
        (bare / "python3").symlink_to(sys.executable)
        monkeypatch.setenv("PATH", str(bare))
        assert run(["rehearse", small]) == ExitCode.UNPREPARED
        told = capsys.readouterr().err
        assert "apt-get install --yes mmdebstrap" in told
        assert "--cloud-only" in told

    def test_an_environment_with_errors_is_not_rehearsed(
        self,
        workplace: Workplace,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("SLURMPOD_HOME", str(workplace.home))
        wrong = tmp_path / "wrong.yaml"
        wrong.write_text(SMALL.replace("us-west-2", "us-weast-2"))
        assert run(["rehearse", str(wrong)]) == ExitCode.INVALID
        assert f"{wrong}:" in capsys.readouterr().err
        assert workplace.rehearsals() == []
