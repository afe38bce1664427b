"""What holds for all steps; the steps themselves are tested one by one beside this file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.steps import STEPS, steps_for
from tests.pure.lifecycle.fakes import LUSTRE, controller_of_two, node

NEVER_WAITS = {"efa_client", "image_facts", "scratch"}
"""Optional, and needed: they succeed or fail at once, and what needs them goes on without them."""

NOT_FOR_JOBS = {
    "back_in_service",
    "takes_jobs",
    "unattended_upgrades",
    "container_option",
    "log_rotation",
    "logins",
    "metrics",
    "motd",
    "self_check",
    "switched_off",
}
"""Steps of workers that no job misses, or that look at a slurmd which runs."""

SLURM_CONTROLLER = "slurm_settings topology slurmctld returned_nodes"


def with_common(names: str, role: Role = Role.CONTROLLER) -> list[str]:
    """Return the names of steps between those that every node has by default."""
    last = ["takes_jobs"] if role is Role.WORKER else []
    return [
        "image_facts",
        "unattended_upgrades",
        *names.split(),
        "log_rotation",
        "switched_off",
        "self_check",
        *last,
    ]


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (
            Role.CONTROLLER,
            f"mount_fsx user_folder bar_daemons keep_daemons accounting {SLURM_CONTROLLER}",
        ),
        (Role.LOGIN, "mount_fsx bar_daemons slurmd"),
        (Role.WORKER, "mount_fsx bar_daemons slurmd"),
    ],
)
def test_each_role_has_its_steps(role: Role, names: str) -> None:
    assert [step.name for step in steps_for(node(role))] == with_common(names, role)


def test_without_accounting_its_step_is_left_out() -> None:
    names = [step.name for step in steps_for(node(Role.CONTROLLER, accounting=False))]
    expected = f"mount_fsx user_folder bar_daemons keep_daemons {SLURM_CONTROLLER}"
    assert names == with_common(expected)


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (Role.CONTROLLER, "user_folder bar_daemons keep_daemons slurm_settings returned_nodes"),
        (Role.LOGIN, "bar_daemons"),
        (Role.WORKER, "bar_daemons"),
    ],
)
def test_what_hyperpod_has_done_is_not_done_again(role: Role, names: str) -> None:
    by_hyperpod = replace(LUSTRE, mounted_by_hyperpod=True)
    extended = node(role, mode=Mode.EXTENDED, file_systems=(by_hyperpod,))
    assert [step.name for step in steps_for(extended)] == with_common(names, role)


def test_several_controllers_share_their_state_before_they_start() -> None:
    names = [step.name for step in steps_for(controller_of_two())]
    assert names.index("shared_state") < names.index("accounting") < names.index("slurmctld")


def test_no_job_comes_before_what_it_would_miss() -> None:
    of_workers = {step.name: set(step.needs) for step in STEPS if Role.WORKER in step.roles}
    before = of_workers["slurmd"]
    while more := set().union(*(of_workers.get(name, ()) for name in before)) - before:
        before |= more
    after = of_workers.keys() - before - {"slurmd"}
    assert after == NOT_FOR_JOBS, "name it in needs of steps/slurmd.py, or here"


CHANGES_THE_IMAGE = (
    "scratch",
    "job_bound_ssh",
    "accounting",
    "database_password",
    "records_backup",
    "slurm_settings",
    "containers",
    "topology",
    "slurmctld",
    "associations",
    "partitions",
    "container_folders",
    "container_option",
)
"""Install software, mount a disk below /opt, or write into the folder of Slurm's configuration."""


@pytest.mark.parametrize("name", CHANGES_THE_IMAGE)
def test_facts_of_the_image_are_noted_before_a_step_changes_them(name: str) -> None:
    needs = {step.name: step.needs for step in STEPS}
    before = set(needs[name])
    while more := set().union(*(needs[each] for each in before)) - before:
        before |= more
    assert "image_facts" in before


def test_every_need_is_the_name_of_an_earlier_step() -> None:
    for index, step in enumerate(STEPS):
        assert set(step.needs) <= {earlier.name for earlier in STEPS[:index]}


def test_the_self_check_comes_after_everything_that_must_succeed() -> None:
    (check,) = (step for step in STEPS if step.name == "self_check")
    required = {step.name for step in STEPS if step.required}
    assert set(check.needs) == required - {check.name}


def test_only_jobs_wait_for_what_may_fail_in_the_end() -> None:
    optional = {step.name for step in STEPS if not step.required} - NEVER_WAITS
    waiting = [step.name for step in STEPS if step.required and optional & set(step.needs)]
    assert waiting == ["slurmd"]
