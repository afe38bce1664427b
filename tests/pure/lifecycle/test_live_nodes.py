"""Nodes that are in service when an environment changes: what runs there gets the new files.

Services go on with the files that they have read, and nobody sees it. So it must not matter where a
run is cut off, as by a failure of another step, between the change of a file and a new start.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Metrics, Role
from tests.pure.lifecycle.fakes import BUCKET, DATABASE, NO_PEOPLE, OPENZFS, SLURM, node
from tests.pure.lifecycle.living_machine import LivingMachine
from tests.pure.lifecycle.people import DIRECTORY
from tests.pure.lifecycle.test_repetition import OPTIONS, every_step, finish, living_node

pytestmark = pytest.mark.usefixtures("few_modules")

OLDER: dict[str, Any] = {
    "file_systems": (OPENZFS,),
    "s3_mounts": (replace(BUCKET, bucket="older-data"),),
    "database": replace(DATABASE, endpoint="older.example.com"),
    "node": replace(OPTIONS, scratch_path="/older-scratch"),
    "access": replace(
        NO_PEOPLE, directory=replace(DIRECTORY, base_dn="dc=older", ca_certificate="older\n")
    ),
    "metrics": Metrics("https://older.example.com/write", 60, may_install=False),
    "slurm": replace(SLURM, configuration={"MessageTimeout": "10"}),
}
"""What an environment said before, in place of what it says now."""

LACKING: dict[str, dict[str, Any]] = {
    "docker": {"node": replace(OPTIONS, containers=False)},
    "slurmctld": {"accounting": False},
}
"""What it did not ask for before, by the name of the step that changes most then."""


def live_node(
    step: type[NodeStep], role: Role, environment: dict[str, Any]
) -> tuple[Node, LivingMachine]:
    """Return a node that was set up for an older environment, and is in service since."""
    earlier = {**environment, **OLDER, **LACKING.get(step.name, {})}
    here, machine = living_node(step, role, earlier)
    if step.applies_to(here):
        finish(step, here)
    now = node(role, **environment).settings
    shared = [each.mount_path for each in now.file_systems if step.name != "mount_fsx"]
    for folder in [*shared, *(["slurmpod-scratch"] if step.name != "scratch" else [])]:
        machine.run("mount", folder)
    machine.changes = 0
    return replace(here, settings=now), machine


@every_step
@pytest.mark.parametrize("crashing", [False, True])
def test_no_service_goes_on_with_older_files_wherever_a_run_is_cut_off(
    step: type[NodeStep], role: Role, environment: dict[str, Any], crashing: bool
) -> None:
    """Also where systemd starts a service again that crashed before the next run."""
    here, machine = live_node(step, role, environment)
    finish(step, here)
    assert not machine.unaware()
    assert machine.old() <= {"slurmctld"} - {step.name}  # a later step starts it again
    for boundary in range(1, machine.changes + 1):
        cut, left = live_node(step, role, environment)
        with left.killed_after(boundary):
            step(cut).apply()
        for unit in list(left.active) if crashing else ():
            left.restart(unit)
        finish(step, cut)
        assert not left.unaware(), f"cut off after change {boundary}"
        found, wanted = left.state(), machine.state()
        for part in ("read", "old") if crashing else ():
            del found[part], wanted[part]  # who has crashed knows more
        assert found == wanted, f"cut off after change {boundary}"
