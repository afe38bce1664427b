"""What holds for all steps; the steps themselves are tested one by one beside this file."""

from __future__ import annotations

import pytest
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps import STEPS, steps_for

from tests.unit.lifecycle.fakes import node


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (Role.CONTROLLER, "mount_fsx user_folder bar_daemons accounting slurmctld self_check"),
        (Role.LOGIN, "mount_fsx bar_daemons slurmd self_check"),
        (Role.WORKER, "mount_fsx bar_daemons slurmd self_check"),
    ],
)
def test_each_role_has_its_steps(role: Role, names: str) -> None:
    assert [step.name for step in steps_for(node(role))] == names.split()


def test_without_accounting_its_step_is_left_out() -> None:
    names = [step.name for step in steps_for(node(Role.CONTROLLER, accounting=False))]
    assert names == ["mount_fsx", "user_folder", "bar_daemons", "slurmctld", "self_check"]


def test_every_need_is_the_name_of_an_earlier_step() -> None:
    for index, step in enumerate(STEPS):
        assert set(step.needs) <= {earlier.name for earlier in STEPS[:index]}


def test_the_self_check_comes_after_everything_that_must_succeed() -> None:
    *others, last = STEPS
    assert last.name == "self_check"
    assert set(last.needs) == {step.name for step in others if step.required}


def test_no_step_needs_one_that_may_fail() -> None:
    optional = {step.name for step in STEPS if not step.required}
    assert not [step.name for step in STEPS if step.required and optional & set(step.needs)]
