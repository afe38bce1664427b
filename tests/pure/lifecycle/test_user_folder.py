"""The folder of the image's user on the shared file systems."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import FileSystem, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.user_folder import UserFolder
from tests.pure.lifecycle.fakes import LUSTRE, OPENZFS, machine_of, node


def test_the_folder_belongs_to_the_user() -> None:
    step = UserFolder(node(Role.CONTROLLER))
    machine_of(step.node).fail("test -d /fsx/ubuntu")
    assert step.apply() == "ubuntu can write to /fsx/ubuntu"
    assert machine_of(step.node).did(
        "install --directory --owner=ubuntu --group=ubuntu --mode=755 /fsx/ubuntu"
    )


def test_an_existing_folder_is_left_as_it_is() -> None:
    step = UserFolder(node(Role.CONTROLLER))
    assert step.is_done()
    machine_of(step.node).fail("test -d /fsx/ubuntu")
    assert not step.is_done()


def test_only_the_controller_makes_it() -> None:
    assert not UserFolder.applies_to(node(Role.WORKER))
    assert not UserFolder.applies_to(node(Role.LOGIN))


def test_there_is_one_on_every_file_system_that_is_new() -> None:
    step = UserFolder(node(Role.CONTROLLER, file_systems=(LUSTRE, OPENZFS)))
    machine_of(step.node).fail("test -d")
    assert step.apply() == "ubuntu can write to /fsx/ubuntu and /home/ubuntu"
    assert machine_of(step.node).ran[-1].endswith("--mode=755 /fsx/ubuntu /home/ubuntu")


@pytest.mark.parametrize("file_systems", [(), (replace(LUSTRE, is_new=False),)])
def test_a_file_system_of_somebody_else_is_left_alone(file_systems: tuple[FileSystem, ...]) -> None:
    assert not UserFolder.applies_to(node(Role.CONTROLLER, file_systems=file_systems))


def test_a_folder_that_root_may_not_make_is_not_tried_again() -> None:
    step = UserFolder(node(Role.CONTROLLER))
    machine_of(step.node).fail("test -d")
    machine_of(step.node).fail("install", "Permission denied")
    with pytest.raises(StepFailed, match="Permission denied") as failure:
        step.apply()
    assert not isinstance(failure.value, NotYet)
    assert "except_nids" in failure.value.fix
