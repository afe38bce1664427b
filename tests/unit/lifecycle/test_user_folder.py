"""The folder of the image's user on the shared file system."""

from __future__ import annotations

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps.user_folder import UserFolder

from tests.unit.lifecycle.fakes import machine_of, node


def test_the_folder_belongs_to_the_user() -> None:
    step = UserFolder(node(Role.CONTROLLER))
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
