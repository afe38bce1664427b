"""`slurmpod migrate` with running jobs: from our scripts to HyperPod's Slurm, and on from there.

The tests of this file run in order, on one cluster.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from slurmpod.rehearsal.hyperpod.provisioning import SharedDatabase
from slurmpod.rehearsal.nodes.folder import network_of
from slurmpod.rehearsal.shell import Shell
from tests.nodes.conftest import PROJECT, wait_until
from tests.nodes.hyperpod_lab import HyperPodLab
from tests.nodes.migrate_table import STAYED
from tests.nodes.test_life import FILE, Life

TEXT = """
name: life
account: "123456789012"
region: us-west-2
network: {zone: us-west-2a}
storage: {lustre: {}}
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: login, role: login, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.m5.large, count: 2, partition: work}
access:
  users:
    - {name: alice, uid: 20001}
slurm:
  qos:
    - {name: urgent, max_jobs_per_user: 4}
lifecycle: {mode: customer}
"""
DATABASE = SharedDatabase("records.example.com", "records-login", "keeper")
LONG = "sbatch --parsable --partition=work --exclusive --wrap='srun sleep 3600'"
BRIEF = "sbatch --parsable --partition=work --wait --wrap=hostname"


@pytest.fixture(scope="module")
def life(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A cluster that our scripts set up, with work on it."""
    folder = tmp_path_factory.mktemp("life")
    (folder / "node_modules").symlink_to(PROJECT / "node_modules")
    (folder / "environments").mkdir()
    lab_folder = tmp_path_factory.mktemp("lab")
    with HyperPodLab(lab_folder, image, database=DATABASE) as lab:
        lab.secret(DATABASE.secret_arn, username=DATABASE.user, password="it's #1")
        life = Life(lab, folder, PROJECT)
        life.file.write_text(TEXT)
        life.bootstrap()
        life.slurmpod(f"deploy {FILE} --yes")
        submit(life, BRIEF)
        jobs = [submit(life, LONG) for _ in range(3)]
        wait_until(lambda: states(life, jobs) == ["PD", "R", "R"], "the jobs")
        yield life


def submit(life: Life, command: str) -> str:
    return life.on("login", f"cd /fsx/ubuntu; {command}", "ubuntu").strip()


def states(life: Life, jobs: Sequence[str]) -> list[str]:
    listed = life.on("login", f"squeue --noheader --format=%t --jobs={','.join(jobs)}")
    return sorted(listed.split())


def stayed(printed: str) -> Mapping[str, tuple[str, str]]:
    """Return the rows of `--json`; none may be lost."""
    rows = json.loads(printed)["stayed"]
    assert [row for row in rows if row["lost"]] == []
    return {row["what"]: (str(row["before"]), row["after"]) for row in rows}


def expected(move: str) -> Mapping[str, tuple[str, str]]:
    return {what: (told["before"], told[move]) for what, told in STAYED.items()}


def ask_outside(life: Life, statement: str) -> str:
    """Query the database outside the cluster, on its own machine."""
    cluster_id = described(life)["ClusterArn"][-12:]
    outside = Shell(network_of(life.lab.folder, "life"), f"database-{cluster_id}", "root")
    return outside.run(["mariadb", "-N", "-e", statement]).strip()


def described(life: Life) -> Any:
    return life.lab.aws.sagemaker.describe_cluster(ClusterName="life")


def test_a_strategy_that_may_touch_jobs_is_refused_while_they_run(life: Life) -> None:
    life.edit("mode: customer", "mode: extended")
    refused = life.slurmpod(f"migrate {FILE} --yes", code=1).stderr
    assert "set slurm.config_strategy: Merge" in refused
    assert "SlurmConfig" not in described(life)["InstanceGroups"][0]


def test_other_changes_are_for_themselves(life: Life) -> None:
    life.edit("slurm:\n", "slurm:\n  config_strategy: Merge\n")
    life.edit("name: workers, role", "name: others, role")
    refused = life.slurmpod(f"migrate {FILE} --yes", code=1).stderr
    assert "deploy these changes separately" in refused
    assert "cluster.groups.others" in refused
    life.edit("name: others, role", "name: workers, role")


def test_hyperpod_takes_over_slurm_and_all_goes_on(life: Life) -> None:
    life.slurmpod(f"migrate {FILE} --yes --dry-run")
    assert "SlurmConfig" not in described(life)["InstanceGroups"][0]
    moved = life.slurmpod(f"migrate {FILE} --yes --json")
    assert stayed(moved.stdout) == expected("api-driven")
    copies = life.folder / "home/deployments/123456789012-us-west-2-life/before-api-driven"
    assert "include slurmpod.conf" in (copies / "slurm.conf").read_text()
    assert "worker_groups" in (copies / "provisioning_parameters.json").read_text()
    groups = described(life)["InstanceGroups"]
    assert [group["SlurmConfig"]["NodeType"] for group in groups] == [
        "Controller",
        "Login",
        "Compute",
    ]


def test_stack_and_file_are_equal_and_there_is_no_way_back(life: Life) -> None:
    assert life.slurmpod(f"diff {FILE}").stdout == "life: no changes\n"
    assert "nothing to move" in life.slurmpod(f"migrate {FILE}").stderr
    life.edit("  config_strategy: Merge\n", "")
    life.edit("mode: extended", "mode: customer")
    assert "refused: lifecycle.mode" in life.slurmpod(f"diff {FILE}", code=1).stdout
    life.edit("mode: customer", "mode: extended")


def test_a_move_that_is_interrupted_goes_on(life: Life) -> None:
    """Continuous provisioning, with Ctrl-C while the CDK is running."""
    life.edit("\ncluster:\n", "\ncluster:\n  provisioning: continuous\n")
    said = life.interrupt(f"migrate {FILE} --yes", at="templates synthesized")
    assert f"slurmpod migrate {FILE}" in said
    moved = life.slurmpod(f"migrate {FILE} --yes --json")
    assert "continuing: " in moved.stderr
    assert stayed(moved.stdout) == expected("continuous")
    assert described(life)["NodeProvisioningMode"] == "Continuous"
    assert "nothing to move" in life.slurmpod(f"migrate {FILE}").stderr


def test_a_database_of_somebody_else_is_left_alone(life: Life) -> None:
    manager = life.lab.aws.service("secretsmanager")
    arn = manager.describe_secret(SecretId=DATABASE.secret_arn)["ARN"]
    outside = f"endpoint: {DATABASE.endpoint}, secret_arn: '{arn}', name: slurm_acct_db"
    life.edit("slurm:\n", f"slurm:\n  accounting_database: {{{outside}}}\n")
    theirs = "CREATE DATABASE slurm_acct_db; CREATE TABLE slurm_acct_db.other_job_table (id INT)"
    ask_outside(life, theirs)
    refused = life.slurmpod(f"migrate {FILE} --yes", code=1).stderr
    assert "has tables already: name an empty one" in refused
    assert ask_outside(life, "SHOW TABLES IN slurm_acct_db") == "other_job_table"
    assert life.on("controller", "systemctl is-active slurmdbd").strip() == "active"
    ask_outside(life, "DROP DATABASE slurm_acct_db")


def test_job_records_move_to_a_database_outside_and_nothing_is_missing(life: Life) -> None:
    moved = life.slurmpod(f"migrate {FILE} --yes --json")
    assert "rows are copied" in moved.stderr
    assert stayed(moved.stdout) == expected("records")
    conf = life.on("controller", "cat /opt/slurm/etc/slurmdbd.conf")
    assert f"StorageHost={DATABASE.endpoint}" in conf
    assert life.slurmpod(f"diff {FILE}").stdout == "life: no changes\n"
    assert "nothing to move" in life.slurmpod(f"migrate {FILE}").stderr


def test_a_new_node_is_hyperpods_and_takes_the_job_that_waited(life: Life) -> None:
    life.slurmpod(f"scale {FILE} workers 3 --yes")
    running = "squeue --noheader --states=RUNNING --format=%i"
    wait_until(lambda: len(life.on("controller", running).split()) == 3, "the third job")
    assert [life.on(group, "id -u alice").strip() for group in ("login", "workers")] == [
        "20001",
        "20001",
    ]
    jobs = "SELECT COUNT(*) FROM slurm_acct_db.life_job_table WHERE time_start > 0 AND time_end = 0"
    wait_until(lambda: ask_outside(life, jobs) == "3", "the third job's record")
    assert life.on("controller", shlex.join(["mariadb", "-N", "-e", jobs])).strip() == "2"
