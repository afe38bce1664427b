"""What an option has made goes when it is off, on nodes that are older than the wish."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps import STEPS
from slurmpod_lifecycle.steps.job_bound_ssh import PAM_FILE
from slurmpod_lifecycle.steps.switched_off import SwitchedOff
from tests.pure.lifecycle.fakes import SWITCHES
from tests.pure.lifecycle.living_machine import LivingMachine
from tests.pure.lifecycle.test_repetition import EVERYTHING, OPTIONS, finish, living_node

SWITCHED_OFF: dict[str, Any] = dict.fromkeys(SWITCHES, False)
OFF = replace(OPTIONS, **SWITCHED_OFF)
_NOTHING = NodeStep.files_without.__func__  # type: ignore[attr-defined]
REMOVABLE = [each for each in STEPS if each.files_without.__func__ is not _NOTHING]  # type: ignore[attr-defined]
"""The steps that know what they leave behind."""


def grown_node(role: Role) -> tuple[Node, LivingMachine, dict[str, object]]:
    """Return a node that had everything and shall have none of it, and what it was before that."""
    had, machine = living_node(SwitchedOff, role, EVERYTHING)
    before = what_counts(machine)
    for step in REMOVABLE:
        if step.applies_to(had):
            finish(step, had)
    assert what_counts(machine) != before
    slurm = replace(had.settings.slurm, configuration={"ReturnToService": "1"})
    wanted = replace(
        had.settings, node=OFF, metrics=None, records_backup=None, checks=None, slurm=slurm
    )
    machine.changes = 0
    return replace(had, settings=wanted), machine, before


def what_counts(machine: LivingMachine) -> dict[str, object]:
    state = machine.state()
    return {name: state[name] for name in ("files", "enabled", "active")}


@pytest.mark.parametrize("role", Role)
def test_nothing_is_left_of_what_is_off(role: Role) -> None:
    here, machine, before = grown_node(role)
    assert not SwitchedOff(here).is_done()
    SwitchedOff(here).apply()
    assert what_counts(machine) == before
    assert SwitchedOff(here).is_done()


@pytest.mark.parametrize("role", Role)
def test_a_run_that_was_cut_off_is_made_good_by_the_next(role: Role) -> None:
    here, machine, before = grown_node(role)
    SwitchedOff(here).apply()
    for boundary in range(1, machine.changes + 1):
        cut, left, _ = grown_node(role)
        with left.killed_after(boundary):
            SwitchedOff(cut).apply()
        finish(SwitchedOff, cut)
        assert what_counts(left) == before, f"cut off after change {boundary}"


def test_what_is_on_stays() -> None:
    here, machine, _ = grown_node(Role.WORKER)
    wanted = {name: EVERYTHING[name] for name in ("node", "metrics", "slurm")}
    on = replace(here, settings=replace(here.settings, **wanted))
    assert SwitchedOff(on).is_done()
    assert SwitchedOff(on).apply() == "nothing to remove"
    assert not machine.changes


def test_what_the_image_and_others_have_written_stays() -> None:
    here, machine, _ = grown_node(Role.WORKER)
    text = machine.files[PAM_FILE] + "account optional pam_of_somebody.so\n"
    machine.files[PAM_FILE] = text
    SwitchedOff(here).apply()
    assert machine.files[PAM_FILE] == (
        "@include common-auth\naccount optional pam_of_somebody.so\n"
    )
