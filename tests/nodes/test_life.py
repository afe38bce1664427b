"""The life of an environment, from its first file to its second deployment.

All changes are made with slurmpod's commands, as the handbook prints them, in the order of the
tests of this file.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from slurmpod.platform_profiles.loading import load
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.hyperpod.software import Software
from slurmpod.rehearsal.nodes.folder import network_of
from slurmpod.rehearsal.shell import CommandFailed, Shell
from tests.cloud.wheel import make_wheel
from tests.nodes.conftest import AS_IN_A_TERMINAL, PATIENCE_SECONDS, PROJECT, wait_until
from tests.nodes.hyperpod_lab import ACCOUNT, REGION, HyperPodLab, hostname
from tests.search_depth import cases

FILE = "environments/life.yaml"
CHOSEN = """
slurm:
  records_backup: {}
  qos:
    - {name: urgent, max_jobs_per_user: 4}

lifecycle:
  mode: customer # which records_backup needs
  health_checks: true
"""
ALICE = """
access:
  users:
    - {name: alice, uid: 20001}
"""
PROGRAM = (sys.executable, "-P", "-c", "from slurmpod.cli.main import main; main()")
SACCT = "sacct --allusers --noheader --parsable2 --format=JobID,JobName,User,State,End"


@dataclass
class Life:
    """An account, and the folder of a user who keeps environments there.

    `packages` is where the user's slurmpod is installed.
    """

    lab: HyperPodLab
    folder: Path
    packages: Path

    def slurmpod(self, command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder, and fail unless it exits with `code`."""
        return self._run([*PROGRAM, *command.split()], code)

    def interrupt(self, command: str, at: str) -> str:
        """Start a command, press Ctrl-C when it prints `at`, and return its output."""
        program = [*AS_IN_A_TERMINAL, *PROGRAM, *command.split()]
        with subprocess.Popen(
            program,
            cwd=self.folder,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as begun:
            assert begun.stderr
            said = []
            for line in begun.stderr:
                said.append(line)
                if at in line:
                    begun.send_signal(signal.SIGINT)
        text = "".join(said)
        assert begun.returncode == ExitCode.INTERRUPTED, text
        return text

    def bootstrap(self) -> None:
        """Bootstrap the account, which needs no environment."""
        cdk = ("node_modules/.bin/cdk", "bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", "")
        self._run(cdk, 0)

    @property
    def _variables(self) -> dict[str, str]:
        person = self.lab.person()
        programs = f"{person['PATH']}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {
            **person,
            "PATH": programs,
            "PYTHONPATH": f"{self.packages}:{sysconfig.get_paths()['purelib']}",
            "SLURMPOD_HOME": str(self.folder / "home"),
        }

    def _run(self, command: Sequence[str], code: int) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_SECONDS,
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended

    @property
    def file(self) -> Path:
        return self.folder / FILE

    def edit(self, old: str, new: str) -> None:
        """Change the file as its owner does."""
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def on(self, group: str, command: str, user: str = "root") -> str:
        """Run a command on the first node of a group, with Slurm's programs on PATH."""
        shell = self.lab.shell("life", group, user=user)
        return shell.run(["bash", "-c", f"PATH=/opt/slurm/bin:$PATH; {command}"])

    def logs_of_slurmd(self) -> str:
        """Return the end of slurmd's log on each worker."""
        tail = ["tail", "--lines=40", "/var/log/slurm/slurmd.log"]
        return "\n".join(f"{shell.hostname}:\n{shell.run(tail)}" for shell in self._workers())

    def _workers(self) -> list[Shell]:
        folder, nodes = network_of(self.lab.folder, "life"), self.lab.nodes("life", "workers")
        return [Shell(folder, hostname(node), "root") for node in nodes]

    def idle_workers(self) -> list[str]:
        listed = self.on("controller", "sinfo --noheader --Node --partition=work --format='%N %T'")
        return [line.split()[0] for line in listed.splitlines() if line.endswith(" idle")]


@pytest.fixture(scope="module", params=cases(usual=("installed",), deep=("installed", "checkout")))
def packages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The location of slurmpod: unpacked from a wheel, as pip does it, or in the checkout."""
    if request.param == "checkout":
        return PROJECT
    folder = tmp_path_factory.mktemp("installed")
    with ZipFile(make_wheel(tmp_path_factory.mktemp("wheel"))) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def life(
    older_image: Path, newer_image: Path, packages: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Life]:
    """A repository of configurations, whose only program is the CDK's command line."""
    folder = tmp_path_factory.mktemp("life")
    (folder / "node_modules").symlink_to(PROJECT / "node_modules")
    newest = Software(load(["ami-2026-07"]).profile, newer_image)
    with HyperPodLab(
        tmp_path_factory.mktemp("lab"), older_image, ("ami-2026-01",), newest=newest
    ) as lab:
        yield Life(lab, folder, packages)


def test_the_first_file_is_written_and_checked(life: Life) -> None:
    written = life.slurmpod(f"init {FILE}")
    assert f"next: slurmpod preflight {FILE}" in written.stderr
    life.file.write_text(life.file.read_text() + CHOSEN)
    assert "1 file: no problems" in life.slurmpod(f"validate {FILE}").stdout


def test_the_account_lacks_the_bootstrap_and_says_so(life: Life) -> None:
    lacking = life.slurmpod(f"preflight {FILE}", code=1)
    assert "cdk bootstrap" in lacking.stderr + lacking.stdout
    life.bootstrap()
    life.slurmpod(f"preflight {FILE}")


def test_the_plan_names_what_will_be_made(life: Life) -> None:
    plan = life.slurmpod(f"plan {FILE}").stdout
    assert "USD" in plan


def test_it_is_deployed_and_a_job_runs(life: Life) -> None:
    deployed = life.slurmpod(f"deploy {FILE} --yes")
    assert "a job ran on ip-" in deployed.stderr
    assert f"next: slurmpod connect {FILE}" in deployed.stderr
    life.on("login", "mkdir /fsx/ubuntu/run && echo 4711 > /fsx/ubuntu/run/checkpoint", "ubuntu")


def test_a_user_comes_and_a_qos_changes(life: Life) -> None:
    life.file.write_text(life.file.read_text() + ALICE)
    life.edit("max_jobs_per_user: 4", "max_jobs_per_user: 8")
    deployed = life.slurmpod(f"deploy {FILE} --yes")
    assert "new nodes only: access.users.alice: nothing ->" in deployed.stdout
    nodes = "4 nodes will run the new scripts: 1 of controller, 1 of login, 2 of workers"
    assert nodes in deployed.stdout
    told = deployed.stderr
    stages = ("templates synthesized", "stacks deployed", "scripts run on nodes", "a job run")
    assert sorted(stages, key=told.index) == list(stages)
    first, *_, last = [line for line in told.splitlines() if "is set up" in line]
    assert ("OK: controller" in first, "OK: worker" in last) == (True, True)

    assert [life.on(node, "id -u alice") for node in ("login", "workers")] == ["20001"] * 2
    assert "urgent|8" in life.on(
        "controller", "sacctmgr --noheader --parsable2 show qos format=name,maxjobspu"
    )
    again = life.slurmpod(f"deploy {FILE} --dry-run").stdout
    assert again.startswith("life: no changes\n")
    assert "will run" not in again


def test_a_group_grows_and_shrinks_under_a_job(life: Life) -> None:
    script = "sbatch --parsable --partition=work --wrap='sleep 3600'"
    job = life.on("login", f"cd /fsx/ubuntu; {script}", "ubuntu")
    wait_until(lambda: len(life.idle_workers()) == 1, "the job")
    life.slurmpod(f"scale {FILE} workers 3 --yes")
    assert "count: 3" in life.file.read_text()
    wait_until(lambda: len(life.idle_workers()) == 2, "a third worker")
    life.slurmpod(f"scale {FILE} workers 2 --yes")
    assert "count: 2" in life.file.read_text()
    assert life.on("login", f"squeue --noheader --format=%t --jobs={job}") == "R"
    life.on("login", f"scancel {job}", "ubuntu")
    wait_until(lambda: len(life.idle_workers()) == 2, "both workers")


def test_a_node_reboots_and_another_is_replaced(life: Life) -> None:
    first, second = life.idle_workers()
    life.slurmpod(f"node reboot {FILE} {first} --yes")
    life.slurmpod(f"node replace {FILE} {second} --yes")
    assert sorted(life.idle_workers()) == sorted((first, second))


def test_new_software_comes_to_all_groups(life: Life) -> None:
    try:
        life.on("login", "srun --partition=work --job-name=remembered --nodes=2 true", "ubuntu")
    except CommandFailed as failed:
        reasons = life.on("controller", "sinfo --list-reasons")
        pytest.fail(f"{failed}\n{reasons}\n{life.logs_of_slurmd()}")
    assert versions(life) == {"24.11"}
    assert not has_newer_records(life)
    life.on("login", "sbatch --job-name=runs-on --wrap='sleep 15' --output=/dev/null", "ubuntu")
    running = "squeue --noheader --states=running --format=%j"  # a waiter would never end
    wait_until(lambda: "runs-on" in life.on("controller", running), "the job that runs on")
    patched = life.slurmpod(f"patch {FILE} --yes")
    assert "job records are saved first" in patched.stderr
    assert "workers: no jobs until it is patched: slurmd there lacks " in patched.stderr
    assert versions(life) == {"26.05"}
    records = life.on("controller", SACCT)
    assert "remembered" in records
    assert re.search(r"\|runs-on\|ubuntu\|COMPLETED\|", records), records
    assert has_newer_records(life)
    wait_until(lambda: len(life.idle_workers()) == 2, "the end of the job that was seen to run")


def versions(life: Life) -> set[str]:
    """Return the versions of Slurm that nodes of all groups run."""
    told = [life.on(group, "sinfo --version") for group in ("controller", "login", "workers")]
    return {each.split()[1].rpartition(".")[0] for each in told}


def has_newer_records(life: Life) -> bool:
    """Return whether slurmdbd has added the columns of Slurm 26.05 to the tables of job records."""
    asked = 'SHOW COLUMNS FROM slurm_acct_db.life_job_table LIKE "sluid"'
    return bool(life.on("controller", f"mariadb --skip-column-names --execute='{asked}'"))


def test_a_node_breaks_and_tells_why(life: Life) -> None:
    life.on("workers", "umount /fsx; slurmpod-health --epilog || true")
    broken = life.on("workers", "hostname")
    wait_until(lambda: broken not in life.idle_workers(), "its drain")
    assert "/fsx" in life.slurmpod(f"status {FILE}").stdout
    told = life.slurmpod(f"why {FILE} {broken}").stdout
    assert "most probably" in told
    assert "/fsx" in told.partition("most probably")[2]
    life.slurmpod(f"node replace {FILE} {broken} --yes")
    wait_until(lambda: len(life.idle_workers()) == 2, "both workers")


def test_who_used_what_is_known(life: Life) -> None:
    rows = life.slurmpod(f"cost {FILE} --csv").stdout.splitlines()
    assert any(row.split(",")[1:3] == ["ubuntu", "work"] for row in rows)


def test_destroyed_and_deployed_again_it_has_its_data_and_records(life: Life) -> None:
    saved = life.slurmpod(f"backup {FILE}")
    assert "/records/life.sql.gz; a new controller starts" in saved.stderr
    before = life.on("controller", SACCT)
    assert "remembered" in before
    life.slurmpod(f"destroy {FILE} --yes")

    left = json.loads(life.slurmpod(f"adopt {FILE} --yes --json", code=1).stdout)
    environment: Any = yaml.safe_load(life.file.read_text())
    for lines in left["file_systems"]:
        environment["storage"][lines["place"].rpartition(".")[2]] = lines["section"]
    life.file.write_text(yaml.safe_dump(environment, sort_keys=False))
    life.slurmpod(f"adopt {FILE} --yes")
    life.slurmpod(f"deploy {FILE} --yes")

    assert life.on("login", "cat /fsx/ubuntu/run/checkpoint") == "4711"
    assert set(before.splitlines()) <= set(life.on("controller", SACCT).splitlines())
    assert life.on("workers", "id -u alice") == "20001"
    timer = life.on("controller", "systemctl is-active slurmpod-records-backup.timer")
    assert timer == "active"
