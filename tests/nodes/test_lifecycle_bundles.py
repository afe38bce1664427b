"""The project's own lifecycle scripts on real nodes, for options of no example environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.reading.read import Reading, read_as
from slurmpod.rehearsal.shell import CommandFailed, Shell
from slurmpod.resolve import resolve
from slurmpod_lifecycle.slurm import SLURM_CONF
from tests.nodes.conftest import wait_until
from tests.nodes.deployed_bundle import deployed_bundle
from tests.nodes.hyperpod_lab import ROLE, HyperPodLab, group, hostname

HEAD = """
name: {name}
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large, count: {controllers}}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, partition: cpu}}
"""
ENDPOINT = "records.example.us-west-2.rds.amazonaws.com"
PASSWORD = r"it's #1 \o/"
AWS_CLI = f"""#!/bin/sh
# Replaces the AWS CLI of HyperPod's image: nodes of the lab do not reach the embedded AWS.
cat <<'SECRET'
{{"password": "{PASSWORD.replace(chr(92), chr(92) * 2)}"}}
SECRET
"""
PROFILES = ("ami-2024-08", "one-controller-rewritten", "eth0", "gres-types")
"""On the image of August 2024 a node with GPUs would fail: these clusters have none."""


@pytest.fixture(scope="module")
def lab(older_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), older_image, PROFILES) as lab:
        yield lab


def upload(lab: HyperPodLab, text: str, **more: str) -> str:
    """Render the bundle of an environment, complete it as a deployment would, and return its URI.

    `more` are commands that the node runs first.
    """
    environment = read_as("environment.yaml", text).environment
    assert environment is not None
    files = deployed_bundle(lab, resolve(Reading(environment)))
    for path, commands in more.items():
        script = f"{path}.sh"
        files[script] = files[script].replace("#!/bin/bash\n", f"#!/bin/bash\n{commands}\n")
    return lab.upload(environment.name, files)


def customer_group(name: str, uri: str, count: int = 1) -> dict[str, Any]:
    return {
        "InstanceGroupName": name,
        "InstanceType": "ml.m5.large",
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": {"SourceS3Uri": uri, "OnCreate": "on_create.sh"},
    }


def by_api(lab: HyperPodLab, uri: str) -> dict[str, Any]:
    """Return the common settings of groups whose Slurm HyperPod configures before our scripts."""
    return {
        "LifeCycleConfig": {"SourceS3Uri": uri, "OnInitComplete": "on_init_complete.sh"},
        "InstanceStorageConfigs": [lab.lustre_storage],
    }


def assert_same_files(written: Shell, other: Shell) -> None:
    """Fail unless a file written on one controller is soon on the other."""
    line = f"# HyperPod writes on {written.hostname}"
    written.run(["sh", "-c", f"echo '{line}' >>{SLURM_CONF}"])
    wait_until(lambda: line in other.run(["cat", SLURM_CONF]), "the other's file")


def nodes_in(head: Shell) -> list[str]:
    text = head.run(["cat", SLURM_CONF])
    return [line for line in text.splitlines() if line.startswith("NodeName=")]


def test_two_controllers_share_their_state_and_their_records(lab: HyperPodLab) -> None:
    text = HEAD.format(name="two", controllers=2) + (
        "slurm:\n"
        "  accounting_database:\n"
        f"    endpoint: {ENDPOINT}\n"
        f"    secret_arn: {lab.secret('two', password=PASSWORD)}\n"
        "  multi_head: {}\n"
    )
    install = f"cat >/usr/local/bin/aws <<'CLI'\n{AWS_CLI}CLI\nchmod 755 /usr/local/bin/aws"
    uri = upload(lab, text, on_create=install)
    cluster = lab.create("two", [customer_group("head", uri, 2), customer_group("cpu", uri)])
    assert cluster.get("FailureMessage") is None
    primary, backup = (hostname(node) for node in lab.nodes("two", "head"))
    worker = lab.shell("two", "cpu")
    assert worker.run(["scontrol", "ping"]).splitlines() == [
        f"Slurmctld(primary) at {primary} is UP",
        f"Slurmctld(backup) at {backup} is UP",
    ]
    assert worker.run(["srun", "hostname"]) == hostname(lab.nodes("two", "cpu")[0])
    worker.run(["sbatch", "--hold", "--wrap=true"])
    heads = [Shell(lab.folder, name, "root") for name in (primary, backup)]
    assert_same_files(*heads)
    assert_same_files(*reversed(heads))

    root = lab.shell("two", "cpu", user="root")
    root.run(["/opt/slurm/bin/scontrol", "takeover"])
    wait_until(
        lambda: f"{backup} is UP" in worker.run(["scontrol", "ping"]), "the other controller"
    )
    wait_until(lambda: "2" in worker.run(["squeue", "--noheader"]).split(), "the queue")
    assert "job_state" in root.run(["ls", "/fsx/slurmpod/two/state"]).split()
    assert "COMPLETED" in worker.run(["sacct", "--noheader", "--format=State"])

    emptied = lab.update("two", [customer_group("cpu", uri, 0)])
    assert emptied.get("FailureMessage") is None
    wait_until(lambda: not any(map(nodes_in, heads)), "files without it: HyperPod writes one")

    lab.machines.power_cut(primary)
    scaled = lab.update("two", [customer_group("cpu", uri, 2)])
    assert scaled.get("FailureMessage") is None
    worker = lab.shell("two", "cpu")
    wait_until(lambda: worker.run(["sinfo", "--noheader", "--format=%D %T"]) == "2 idle", "two")
    lab.delete("two")


@pytest.fixture(scope="module")
def homes(lab: HyperPodLab) -> Iterator[None]:
    """A cluster with OpenZFS and no Lustre."""
    text = HEAD.format(name="homes", controllers=1) + "storage: {lustre: null, openzfs: {}}\n"
    uri = upload(lab, text)
    cluster = lab.create("homes", [customer_group("head", uri), customer_group("cpu", uri)])
    assert cluster.get("FailureMessage") is None
    yield
    lab.delete("homes")


@pytest.mark.usefixtures("homes")
def test_homes_are_on_openzfs_where_there_is_no_lustre(lab: HyperPodLab) -> None:
    worker = lab.shell("homes", "cpu")
    assert worker.run(["srun", "sh", "-c", "touch ~/here; echo $HOME"]) == "/home/ubuntu"
    assert "here" in lab.shell("homes", "head").run(["ls", "/home/ubuntu"]).split()


@pytest.mark.usefixtures("homes")
def test_slurmd_cannot_delete_the_configuration_on_the_controller(lab: HyperPodLab) -> None:
    head = lab.shell("homes", "head", user="root")
    with pytest.raises(CommandFailed, match=r"(?i)assert"):
        head.run(["systemctl", "restart", "slurmd"])
    assert "slurm.conf" in head.run(["ls", "/opt/slurm/etc"]).split()


def test_what_hyperpod_has_set_up_is_completed(lab: HyperPodLab) -> None:
    text = HEAD.format(name="more", controllers=1) + "lifecycle: {mode: extended}\n"
    uri = upload(lab, text)
    common = by_api(lab, uri)
    groups = [group("head", "Controller", **common), group("cpu", "Compute", **common)]
    cluster = lab.create("more", groups)
    assert cluster.get("FailureMessage") is None
    said = "\n".join(lab.output("more", "head"))
    assert "self_check: done" in said
    assert "slurmd cannot start on this node" in said
    for step in ("mount_fsx", "accounting", "slurmctld"):
        assert f"{step}:" not in said
    lab.delete("more")
