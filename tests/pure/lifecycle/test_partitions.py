from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.slurm_files import LIMITS_PROGRAM
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.steps.partitions import Partitions, differences
from tests.pure.lifecycle.fakes import SLURM, machine_of, node

SHOW = "/opt/slurm/bin/scontrol --oneliner show partition"
WANTED = replace(SLURM, partitions={"cpu": {"MaxTime": "1-00:00:00"}, "dev": {"MaxNodes": "1"}})


@pytest.fixture
def step() -> Partitions:
    step = Partitions(node(Role.CONTROLLER, slurm=WANTED))
    machine_of(step.node).reply(f"{SHOW} cpu", "PartitionName=cpu MaxTime=1-00:00:00 MaxNodes=2\n")
    machine_of(step.node).reply(f"{SHOW} dev", "PartitionName=dev MaxTime=UNLIMITED MaxNodes=1\n")
    return step


def test_limits_are_set_on_every_run_as_slurm_forgets_qos_that_came_later(step: Partitions) -> None:
    assert not step.is_done()
    assert step.apply() == "partitions have their limits"
    assert machine_of(step.node).ran[0] == LIMITS_PROGRAM


def test_a_partition_that_is_not_listed_yet_is_no_failure(step: Partitions) -> None:
    machine_of(step.node).fail(LIMITS_PROGRAM)
    machine_of(step.node).fail(f"{SHOW} dev")
    assert step.apply().startswith("warning: slurm.conf has no partition dev yet")


def test_a_limit_that_is_not_in_force_is_waited_for(step: Partitions) -> None:
    machine_of(step.node).reply(f"{SHOW} cpu", "PartitionName=cpu MaxTime=UNLIMITED\n")
    with pytest.raises(NotYet, match=r"without their limits: cpu \(MaxTime\)"):
        step.apply()


def test_names_may_come_in_any_order() -> None:
    shown = "PartitionName=cpu AllowQos=low,high Default=YES"
    assert differences({"AllowQos": "high,low", "Default": "YES"}, shown) == []
    assert differences({"AllowQos": "high", "QoS": "low"}, shown) == ["AllowQos", "QoS"]


def test_without_limits_there_is_nothing_to_do() -> None:
    assert not Partitions.applies_to(node(Role.CONTROLLER))
