"""What holds for every step: it bears to be run twice, to be cut off anywhere, to be looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slurmpod_lifecycle.dry_run import WouldChange, preview
from slurmpod_lifecycle.machine import MOUNTS
from slurmpod_lifecycle.node import RESOURCE_CONFIG, Node, NodeStep
from slurmpod_lifecycle.settings import (
    Account,
    Checks,
    Hardware,
    Metrics,
    Mode,
    RecordsBackup,
    Role,
)
from slurmpod_lifecycle.steps import STEPS
from tests.pure.lifecycle.fakes import (
    BUCKET,
    DATABASE,
    GROUPS,
    LUSTRE,
    NODE_OPTIONS,
    OPENZFS,
    SLURM,
    SWITCHES,
    TWO_HEADS,
    controller_of_two,
    machine_of,
    node,
)
from tests.pure.lifecycle.living_machine import LivingMachine, ReadOnlyLivingMachine
from tests.pure.lifecycle.people import ACCESS, DIRECTORY, GROUP, PASSWD, SHADOW

pytestmark = pytest.mark.usefixtures("few_modules")

TYPES = {"gpu": "ml.p5.48xlarge", "neuron": "ml.trn1.32xlarge"}
HARDWARE = {
    name: Hardware("x86_64", kind, accelerators=8, efa_interfaces=32, nvme_gb=30_000)
    for kind, name in TYPES.items()
}
SWITCHED_ON: dict[str, Any] = dict.fromkeys(SWITCHES, True)
OPTIONS = replace(
    NODE_OPTIONS,
    instance_types=dict.fromkeys(GROUPS.values(), (TYPES["gpu"],)),
    hardware=HARDWARE,
    scratch_path="/scratch",
    **SWITCHED_ON,
)
EVERYTHING: dict[str, Any] = {
    "file_systems": (replace(LUSTRE, efa=True), OPENZFS),
    "s3_mounts": (BUCKET,),
    "node": OPTIONS,
    "access": replace(ACCESS, directory=DIRECTORY),
    "metrics": Metrics("https://example.com/write", 15, may_install=False),
    "checks": Checks(24, ("scratch",), (GROUPS[Role.WORKER],), (), {}, {}, 50, 2, None),
    "records_backup": RecordsBackup("s3://scripts/records/dev.sql.gz", 60),
    "slurm": replace(
        SLURM,
        configuration={"MessageTimeout": "30"},
        partitions={"cpu": {"MaxTime": "1-00:00:00"}},
        accounts=(Account("research", "", {"Parent": "root"}),),
    ),
}
OTHER_KINDS: tuple[dict[str, Any], ...] = (
    {"database": DATABASE},
    {"node": replace(OPTIONS, instance_types=dict.fromkeys(GROUPS.values(), (TYPES["neuron"],)))},
    {"mode": Mode.EXTENDED},
    {"multi_head": TWO_HEADS, "database": DATABASE},
)
SLURM_CONF = "SlurmctldHost=ip-10-0-128-10(10.0.128.10)\nClusterName=dev\nPartitionName=cpu\n"
REPLIES = {
    "/opt/slurm/bin/scontrol ping": "Slurmctld(primary) at ip-10-0-128-10 is UP\n",
    "/opt/slurm/bin/scontrol --oneliner show node": "NodeName=ip-10-0-128-20 State=IDLE \n",
    "/opt/slurm/bin/scontrol --oneliner show partition": "MaxTime=1-00:00:00 \n",
    "/opt/slurm/bin/sacctmgr --noheader --parsable2 show cluster": "dev\n",
    "/opt/slurm/bin/srun --help": "--container-image=IMAGE\n",
    "aws secretsmanager": '{"password": "secret", "username": "admin"}',
    "find -H": "/usr/local/lib/slurm/spank_pyxis.so\n",
    "find /usr/lib -name pam": "/usr/lib/security/pam_slurm_adopt.so\n",
    "getent passwd ubuntu": "ubuntu:x:1000:1000::/home/ubuntu:/bin/bash\n",
    "systemd-escape": "",
    "ls": "",
}
IMAGE = {
    "/etc/docker/daemon.json": '{"runtimes": {}}',
    "/etc/passwd": PASSWD,
    "/etc/shadow": SHADOW,
    "/etc/group": GROUP,
    "/etc/fstab": "",
    "/etc/pam.d/sshd": "@include common-auth\n",
    "/etc/ssh/ssh_host_ed25519_key.pub": "ssh-ed25519 AAAA root@here\n",
    "/opt/slurm/etc/slurm.conf": SLURM_CONF,
    "/sys/devices/virtual/dmi/id/product_name": "p5.48xlarge\n",
    "/usr/bin/mount-s3": "",
    "/usr/bin/prometheus": "",
    "/usr/bin/prometheus-node-exporter": "",
    "/usr/lib/security/pam_slurm_adopt.so": "",
    "/usr/local/lib/slurm/spank_pyxis.so": "",
    "/dev/infiniband/uverbs0": "",
    **{f"/dev/neuron{number}": "" for number in range(8)},
}

MOUNTED_BY = {
    "/fsx": f"{LUSTRE.source} /fsx lustre rw 0 0\n",
    "/home": f"{OPENZFS.source} /home nfs4 rw 0 0\n",
    "slurmpod-s3-data": "mountpoint-s3 /data fuse ro 0 0\n",
    "slurmpod-scratch": "/dev/md/scratch /scratch xfs rw 0 0\n",
}
"""What the kernel lists when a folder, or by a unit, was mounted."""

RUNNING = {
    "accounting": ("slurmctld",),
    "bar_daemons": ("slurmctld", "slurmd"),
    "docker": ("docker",),
    "logins": ("ssh",),
    "self_check": ("slurmctld", "slurmd"),
}
"""What runs on the node before a step, by the step's name."""

NEVER_DONE = {
    "associations": "sacctmgr, which only replies here, would have to show what it was told",
    "self_check": "it is a check of a live node",
    "container_option": "it is a check of a live node",
    "partitions": "it compares what Slurm shows each time",
}
"""Steps that find something to do whenever they run here; what they do changes nothing then."""


def cases() -> list[tuple[type[NodeStep], Role, dict[str, Any]]]:
    """Return every step with a role and an environment in which it has something to do."""
    found: list[tuple[type[NodeStep], Role, dict[str, Any]]] = []
    for step in STEPS:
        for more in ({}, *OTHER_KINDS):
            environment = {**EVERYTHING, **more}
            roles = [role for role in Role if step.applies_to(node(role, **environment))]
            if roles and (not more or not _has(found, step)):
                found += [(step, role, environment) for role in roles]
    return found


def _has(found: list[tuple[type[NodeStep], Role, dict[str, Any]]], step: type[NodeStep]) -> bool:
    return any(each is step for each, _, _ in found)


CASES = [pytest.param(*case, id=f"{case[0].name}-{case[1].value}") for case in cases()]
every_step = pytest.mark.parametrize(("step", "role", "environment"), CASES)


def living_node(
    step: type[NodeStep], role: Role, environment: dict[str, Any]
) -> tuple[Node, LivingMachine]:
    """Return a node as HyperPod hands it over: nothing of ours is there, but for the mounts."""
    plain, machine = node(role, **environment), LivingMachine()
    listed = machine_of(controller_of_two() if "multi_head" in environment else plain)
    machine.files = {**IMAGE, RESOURCE_CONFIG: listed.files[RESOURCE_CONFIG], MOUNTS: ""}
    for unit in RUNNING.get(step.name, ()):
        machine.enabled.add(unit)
        machine.start(unit)
    machine.mounted_by = dict(MOUNTED_BY)
    for command, output in REPLIES.items():
        machine.reply(command, output)
    for file_system in plain.settings.file_systems if step.name != "mount_fsx" else ():
        machine.run("mount", file_system.mount_path)
    machine.changes = 0
    return replace(plain, machine=machine), machine


def finish(step: type[NodeStep], here: Node) -> None:
    """Run a step as the runner does, until it has nothing more to do."""
    if not step(here).is_done():
        step(here).apply()


def test_every_step_is_among_the_cases() -> None:
    assert {case[0] for case in cases()} == set(STEPS)


@every_step
def test_a_second_run_changes_nothing(
    step: type[NodeStep], role: Role, environment: dict[str, Any]
) -> None:
    here, machine = living_node(step, role, environment)
    finish(step, here)
    state = machine.state()
    assert step(here).is_done() or step.name in NEVER_DONE
    step(here).apply()
    assert machine.state() == state


@every_step
def test_after_a_cut_anywhere_the_next_run_makes_it_good(
    step: type[NodeStep], role: Role, environment: dict[str, Any]
) -> None:
    here, machine = living_node(step, role, environment)
    finish(step, here)
    for boundary in range(1, machine.changes + 1):
        cut, left = living_node(step, role, environment)
        with left.killed_after(boundary):
            step(cut).apply()
        finish(step, cut)
        assert left.state() == machine.state(), f"cut off after change {boundary}"


@every_step
@pytest.mark.parametrize("is_set_up", [False, True])
def test_a_dry_run_changes_nothing(
    step: type[NodeStep], role: Role, environment: dict[str, Any], is_set_up: bool
) -> None:
    here, machine = living_node(step, role, environment)
    if is_set_up:
        finish(step, here)
    state, changes = machine.state(), machine.changes
    looking = replace(here, machine=ReadOnlyLivingMachine(machine))
    (result,) = preview([step(looking)])
    assert not result.detail.startswith("unexpected "), result.detail
    assert machine.state() == state
    assert looking.machine.changes == changes  # type: ignore[attr-defined]


@every_step
def test_the_question_whether_it_is_done_changes_nothing(
    step: type[NodeStep], role: Role, environment: dict[str, Any]
) -> None:
    here, machine = living_node(step, role, environment)
    try:
        step(replace(here, machine=ReadOnlyLivingMachine(machine))).is_done()
    except WouldChange as change:
        pytest.fail(f"is_done would {change.reason}: is that only a question?")
