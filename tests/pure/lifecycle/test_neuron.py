"""Nodes with Neuron devices: their profile, and a look at the driver."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Hardware, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.neuron import DRIVER_VERSION, PROFILE, Neuron
from tests.pure.lifecycle.fakes import NODE_OPTIONS, machine_of, node

TRN1 = Hardware("x86_64", "neuron", 16, 8, nvme_gb=7600)


def step_of(hardware: Hardware = TRN1, *, devices: int = 16) -> Neuron:
    options = replace(
        NODE_OPTIONS,
        instance_types={"hands": ("ml.trn1.32xlarge",)},
        hardware={"ml.trn1.32xlarge": hardware},
    )
    step = Neuron(node(Role.WORKER, node=options))
    show(step, devices)
    return step


def show(step: Neuron, devices: int) -> None:
    machine_of(step.node).fail("test -c /dev/neuron")
    for number in range(devices):
        machine_of(step.node).reply(f"test -c /dev/neuron{number}", "")


def test_only_nodes_with_neuron_have_it() -> None:
    assert Neuron.applies_to(step_of().node)
    assert not Neuron.applies_to(step_of(replace(TRN1, accelerator_kind="gpu")).node)
    assert not Neuron.applies_to(node(Role.CONTROLLER))


def test_its_commands_are_in_everybodys_path() -> None:
    step = step_of()
    assert not step.is_done()
    machine_of(step.node).files[DRIVER_VERSION] = "2.19.64.0\n"
    assert step.apply() == "16 Neuron devices, driver 2.19.64.0"
    assert "PATH=/opt/aws/neuron/bin:$PATH" in machine_of(step.node).files[PROFILE]
    assert step.is_done()


def test_efa_is_asked_for_only_where_there_is_efa() -> None:
    step_with, step_without = step_of(), step_of(replace(TRN1, efa_interfaces=0))
    step_with.apply()
    step_without.apply()
    assert 'FI_PROVIDER="${FI_PROVIDER:-efa}"' in machine_of(step_with.node).files[PROFILE]
    assert "FI_" not in machine_of(step_without.node).files[PROFILE]


def test_a_kernel_without_the_driver_is_told_at_once() -> None:
    step = step_of(devices=0)
    with pytest.raises(StepFailed, match="no Neuron device") as failure:
        step.apply()
    assert not isinstance(failure.value, NotYet)


def test_devices_that_are_not_there_yet_are_waited_for() -> None:
    step = step_of(replace(TRN1, accelerators=4), devices=3)
    with pytest.raises(NotYet, match="3 of 4 Neuron devices"):
        step.apply()
    assert not step.is_done()
    show(step, 4)
    assert step.is_done()


def test_the_driver_is_the_images_business() -> None:
    step = step_of()
    step.apply()
    assert all(line.startswith("test -c ") for line in machine_of(step.node).ran)
    assert not Neuron.required
