"""Which machines wait for which others, without any machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from ipaddress import IPv4Interface
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.rehearsal.nodes import machines
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.nodes.spec import MachineSpec

A = MachineSpec("a", IPv4Interface("10.0.0.5/24"))
B = MachineSpec("b", IPv4Interface("10.0.0.6/24"))


class FakeMachine:
    """A machine that is over as soon as it has booted."""

    did: list[str]
    clears: Callable[[], None]

    def __init__(self, spec: MachineSpec, **_: object) -> None:
        self.name = spec.hostname
        self.is_over = False

    def boot(self, _: Path) -> None:
        self.did.append(f"{self.name} booted")
        self.is_over = True

    def power_off(self) -> None:
        type(self).clears()
        self.did.append(f"{self.name} cleared")

    def update_hosts(self, _: object) -> None:
        pass


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeMachine]:
    FakeMachine.did, FakeMachine.clears = [], lambda: None
    monkeypatch.setattr(machines, "Machine", FakeMachine)
    return FakeMachine


def make() -> Machines:
    nowhere = Path("/nowhere")
    folder: Any = SimpleNamespace(path=nowhere, cgroup=nowhere)
    sandbox: Any = SimpleNamespace(add_subnet=lambda _: None)
    return Machines(folder, sandbox, image=nowhere)


def test_what_a_machine_left_is_cleared_before_its_successor_boots(
    fake: type[FakeMachine],
) -> None:
    all_machines = make()
    all_machines.boot(A)
    all_machines.boot(A)
    assert fake.did == ["a booted", "a cleared", "a booted"]


def test_nobody_waits_until_another_machine_is_cleared(fake: type[FakeMachine]) -> None:
    all_machines = make()
    all_machines.boot(A)
    other = threading.Thread(target=all_machines.boot, args=(B,), daemon=True)

    def clear() -> None:
        other.start()
        other.join(timeout=5)

    fake.clears = clear
    all_machines.boot(A)
    assert fake.did == ["a booted", "b booted", "a cleared", "a booted"]
