"""The node's own disks as one folder, by a program that runs at every boot."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slurmpod_lifecycle.machine import MOUNTS
from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.scratch_volume import UNIT
from slurmpod_lifecycle.settings import Hardware, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.scratch import Scratch
from slurmpod_lifecycle.units import BOOT_FOLDER, PACKAGE
from tests.pure.lifecycle.fakes import NODE_OPTIONS, machine_of, node

P4D = Hardware("x86_64", "gpu", 8, 4, nvme_gb=8000)
M5 = Hardware("x86_64", "", 0, 0, nvme_gb=0)
UNIT_PATH = f"/etc/systemd/system/{UNIT}.service"
AT_SCRATCH = "/dev/slurmpod/scratch /scratch ext4 rw 0 0\n"


def node_with(hardware: Hardware | None, scratch_path: str | None = "/scratch") -> Node:
    types = {"ml.p4d.24xlarge": hardware} if hardware else {}
    options = replace(
        NODE_OPTIONS,
        instance_types={"hands": ("ml.p4d.24xlarge",)},
        hardware=types,
        scratch_path=scratch_path,
    )
    return node(Role.WORKER, node=options)


@pytest.mark.parametrize(
    ("hardware", "path", "applies"),
    [(P4D, "/scratch", True), (M5, "/scratch", False), (P4D, None, False), (None, "/s", True)],
)
def test_it_is_for_nodes_that_may_have_disks(
    hardware: Hardware | None, path: str | None, *, applies: bool
) -> None:
    assert Scratch.applies_to(node_with(hardware, path)) is applies


def test_a_program_makes_the_volume_now_and_at_every_boot() -> None:
    step = Scratch(node_with(P4D))
    machine = machine_of(step.node)
    assert not step.is_done()
    assert step.apply() == "this node's disks are at /scratch"
    unit = machine.files[UNIT_PATH]
    assert '"slurmpod_lifecycle.scratch_volume" "/scratch"' in unit
    assert "After=dlami-nvme.service" in unit
    assert "WantedBy=multi-user.target" in unit
    assert machine.ran[-1] == f"systemctl start {UNIT}"
    assert not step.is_done()
    machine.files[MOUNTS] += AT_SCRATCH
    assert step.is_done()


def test_the_program_is_complete_without_the_bundle() -> None:
    step = Scratch(node_with(P4D))
    step.apply()
    files = machine_of(step.node).files
    for path in PACKAGE.rglob("*.py"):
        assert f"{BOOT_FOLDER}/{path.relative_to(PACKAGE.parent)}" in files
    assert f"WorkingDirectory={BOOT_FOLDER}\n" in files[UNIT_PATH]


def test_files_of_yesterday_do_not_pass_for_todays() -> None:
    step = Scratch(node_with(P4D))
    step.apply()
    machine = machine_of(step.node)
    machine.files[MOUNTS] += AT_SCRATCH
    machine.files[UNIT_PATH] += "# older\n"
    assert not step.is_done()
    machine.ran = []
    step.apply()
    assert machine.ran[1] == f"systemctl stop {UNIT}"
    assert step.is_done()


def test_a_dry_run_names_the_service() -> None:
    step = Scratch(node_with(P4D))
    machine = machine_of(step.node)
    machine.fail("systemctl is-active")
    step.apply()
    assert next(iter(machine.access)) == UNIT_PATH
    assert not machine.did("systemctl stop")


def test_a_failure_is_told_at_once_in_the_words_of_the_program() -> None:
    step = Scratch(node_with(P4D))
    machine_of(step.node).fail(f"systemctl start {UNIT}")
    said = "error: all instance-store disks are in use: /dev/nvme1n1\nFailed to start\n"
    machine_of(step.node).reply("journalctl", said)
    with pytest.raises(StepFailed, match="are in use: /dev/nvme1n1") as failure:
        step.apply()
    assert not isinstance(failure.value, NotYet)


def test_a_type_that_the_catalog_does_not_know_may_have_none() -> None:
    step = Scratch(node_with(None))
    machine_of(step.node).reply("lsblk", json.dumps({"blockdevices": []}))
    assert step.apply() == "this instance type has no instance-store disks"
    assert UNIT_PATH not in machine_of(step.node).files


def test_a_node_takes_jobs_without_it() -> None:
    assert not Scratch.required
