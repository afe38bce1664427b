"""A new instance does not inherit the drain that the checks gave the one before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.steps.back_in_service import BackInService
from tests.pure.lifecycle.fakes import NODE_OPTIONS, machine_of, node

OPTIONS = replace(NODE_OPTIONS, health_checks=True)
SHOW = "/opt/slurm/bin/scontrol --oneliner show node ip-10-0-128-20"
RESUME = "/usr/local/sbin/slurmpod-health --resume"
DRAINED = "State=IDLE+CLOUD+DRAIN Reason=slurmpod: 7 of 8 accelerators [root@2026-01-01T00:00:00]\n"


def step(shown: str) -> BackInService:
    step = BackInService(node(Role.WORKER, node=OPTIONS))
    machine_of(step.node).reply(SHOW, f"NodeName=ip-10-0-128-20 {shown}")
    return step


def test_a_good_node_that_was_drained_by_the_checks_takes_jobs() -> None:
    drained = step(DRAINED)
    assert not drained.is_done()
    assert drained.apply() == "ip-10-0-128-20 takes jobs: its checks pass"
    assert machine_of(drained.node).ran[-1] == RESUME


def test_one_that_is_still_bad_stays_drained_and_is_told() -> None:
    drained = step(DRAINED)
    machine_of(drained.node).fail(RESUME, "failed with status 3: accelerators  bad  7 of 8")
    with pytest.raises(NotYet, match="accelerators bad 7 of 8"):
        drained.apply()
    assert not BackInService.required


@pytest.mark.parametrize(
    "shown",
    [
        "State=IDLE+CLOUD\n",
        DRAINED.replace("slurmpod: ", "by hand: "),
        DRAINED.replace("slurmpod: ", "slurmpod: check: "),
    ],
)
def test_nothing_else_is_touched(shown: str) -> None:
    assert step(shown).is_done()


def test_a_node_that_slurm_does_not_know_yet_has_no_drain() -> None:
    late = step(DRAINED)
    machine_of(late.node).fail(SHOW, "Node ip-10-0-128-20 not found")
    assert late.is_done()


def test_only_workers_with_checks_have_drains_of_their_own() -> None:
    assert [role for role in Role if BackInService.applies_to(node(role, node=OPTIONS))] == [
        Role.WORKER
    ]
    assert not BackInService.applies_to(node(Role.WORKER))
