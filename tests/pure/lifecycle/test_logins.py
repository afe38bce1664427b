"""Keys and administrators of a node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Access, Role, User
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.steps.logins import KEYS, SSHD_CONF, SUDOERS, Logins
from slurmpod_lifecycle.steps.users import RECORD
from tests.pure.lifecycle.fakes import machine_of, node
from tests.pure.lifecycle.people import ACCESS, ALICE, BOB, KEY


def step(access: Access = ACCESS, *present: str) -> Logins:
    step = Logins(node(Role.LOGIN, access=access))
    machine_of(step.node).reply(f"find {KEYS}", "".join(f"{KEYS}/{name}\n" for name in present))
    return step


def test_keys_and_administrators_are_written() -> None:
    logins = step()
    assert logins.apply() == "1 users with keys, 1 administrators"
    machine = machine_of(logins.node)
    assert machine.files[f"{KEYS}/alice"] == f"{KEY}\n"
    assert f"{KEYS}/bob" not in machine.files
    assert machine.files[SUDOERS].splitlines()[1:] == ["alice ALL=(ALL) NOPASSWD:ALL"]
    assert machine.access[SUDOERS][0] == 0o440
    assert f"AuthorizedKeysFile .ssh/authorized_keys {KEYS}/%u\n" in machine.files[SSHD_CONF]
    assert machine.did("systemctl reload ssh")


def test_finds_itself_done_and_reloads_nothing() -> None:
    logins = step(ACCESS, "alice")
    logins.apply()
    assert logins.is_done()
    machine_of(logins.node).ran.clear()
    logins.apply()
    assert not machine_of(logins.node).did("systemctl reload")


def test_keys_of_others_are_removed() -> None:
    logins = step(ACCESS, "alice", "carl")
    logins.apply()
    assert not logins.is_done()
    assert machine_of(logins.node).did(f"rm {KEYS}/carl")
    assert not machine_of(logins.node).did(f"rm {KEYS}/alice")


@pytest.mark.parametrize("changed", [replace(ALICE, admin=False), replace(ALICE, ssh_keys=("x",))])
def test_what_is_taken_away_is_noticed(changed: User) -> None:
    logins = step(ACCESS, "alice")
    logins.apply()
    later = step(replace(ACCESS, users=(changed, BOB)), "alice")
    machine_of(later.node).files.update(machine_of(logins.node).files)
    assert not later.is_done()


def test_rules_that_sudo_refuses_are_not_put_in_force() -> None:
    logins = step()
    machine_of(logins.node).fail("/usr/sbin/visudo", "syntax error")
    with pytest.raises(StepFailed, match="syntax error"):
        logins.apply()
    assert SUDOERS not in machine_of(logins.node).files


def test_an_image_without_visudo_does_without() -> None:
    logins = step()
    machine_of(logins.node).fail("test -x /usr/sbin/visudo")
    logins.apply()
    assert not machine_of(logins.node).did("/usr/sbin/visudo")


def test_is_there_for_those_who_left_too() -> None:
    nobody = node(Role.LOGIN)
    assert not Logins.applies_to(nobody)
    machine_of(nobody).files[RECORD] = '["alice"]'
    assert Logins.applies_to(nobody)
