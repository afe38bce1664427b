"""Lustre over EFA: where it is set up, when it is left to others, and what is said without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.node import PRODUCT_NAME, Node
from slurmpod_lifecycle.settings import Hardware, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.efa_client import UNIT, UNIT_OF_FSX, EfaClient
from slurmpod_lifecycle.steps.mount_fsx import fstab_entry
from tests.pure.lifecycle.fakes import LUSTRE, NODE_OPTIONS, machine_of, node

OVER_EFA = replace(LUSTRE, efa=True)
P5 = Hardware("x86_64", "gpu", 8, 32, nvme_gb=30720)
ADDRESS = "10.0.128.20"
UNIT_PATH = f"/etc/systemd/system/{UNIT}.service"
UNIT_PATH_OF_FSX = f"/etc/systemd/system/{UNIT_OF_FSX}.service"


def efa_node(hardware: Hardware | None = P5, *, file_system: object = OVER_EFA) -> Node:
    types = {"ml.p5.48xlarge": hardware} if hardware else {}
    options = replace(NODE_OPTIONS, instance_types={"hands": ("ml.p5.48xlarge",)}, hardware=types)
    made = node(Role.WORKER, node=options, file_systems=(file_system,))
    machine_of(made).files[PRODUCT_NAME] = "p5.48xlarge\n"
    return made


def test_it_is_for_nodes_with_efa_and_file_systems_with_efa() -> None:
    assert EfaClient.applies_to(efa_node())
    assert not EfaClient.applies_to(efa_node(file_system=LUSTRE))
    assert not EfaClient.applies_to(efa_node(replace(P5, efa_interfaces=0)))
    assert not EfaClient.applies_to(efa_node(None))


def test_it_is_not_for_what_fsx_excludes() -> None:
    trainium = efa_node()
    machine_of(trainium).files[PRODUCT_NAME] = "trn2.48xlarge\n"
    assert not EfaClient.applies_to(trainium)


def test_a_program_configures_lnet_now_and_at_every_boot() -> None:
    step = EfaClient(efa_node())
    assert not step.is_done()
    assert step.apply() == "Lustre goes over EFA"
    unit = machine_of(step.node).files[UNIT_PATH]
    assert f'"slurmpod_lifecycle.lnet_over_efa" "{ADDRESS}" "p5.48xlarge"' in unit
    assert "After=network-online.target" in unit
    assert step.is_done()


def test_mounts_wait_for_it_and_come_without_it() -> None:
    entry = fstab_entry(OVER_EFA)
    assert entry.startswith(fstab_entry(LUSTRE).removesuffix(" 0 0"))
    for unit in (UNIT, UNIT_OF_FSX):
        assert f",x-systemd.after={unit}.service" in entry
    assert "x-systemd.requires" not in entry


@pytest.mark.parametrize("missing", ["which lnetctl", "modinfo kefalnd", "modinfo efa"])
def test_an_image_that_lacks_something_says_what_and_at_once(missing: str) -> None:
    step = EfaClient(efa_node())
    machine_of(step.node).fail(missing)
    with pytest.raises(StepFailed, match="over TCP: this image has no") as failure:
        step.apply()
    assert missing.split()[1].removesuffix("ctl") in failure.value.reason.lower()
    assert not isinstance(failure.value, NotYet)
    assert UNIT_PATH not in machine_of(step.node).files


def test_mounting_never_waits_for_it() -> None:
    step = EfaClient(efa_node())
    machine_of(step.node).fail(f"systemctl start {UNIT}")
    machine_of(step.node).reply("journalctl", "error: 0 of 8 EFA interfaces of LNet are up\n")
    with pytest.raises(StepFailed, match=r"over TCP: .* 0 of 8 EFA interfaces") as failure:
        step.apply()
    assert not isinstance(failure.value, NotYet)
    assert not EfaClient.required


def test_an_image_that_does_it_itself_is_left_to_it() -> None:
    step = EfaClient(efa_node())
    machine = machine_of(step.node)
    machine.files[UNIT_PATH_OF_FSX] = "[Service]\n"
    machine.fail(f"systemctl is-active --quiet {UNIT_OF_FSX}")
    assert not step.is_done()
    step.apply()
    assert machine.did(f"systemctl restart {UNIT_OF_FSX}")
    assert UNIT_PATH not in machine.files
    machine.reply(f"systemctl is-active --quiet {UNIT_OF_FSX}", "")
    assert step.is_done()
