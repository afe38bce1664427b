from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slurmpod_lifecycle.settings import Hardware, Mode, NodeOptions, Role
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.steps.self_check import SelfCheck, judge_accelerators, judge_node
from tests.pure.lifecycle.fakes import LUSTRE, NODE_OPTIONS, OPENZFS, machine_of, node

SCONTROL = "/opt/slurm/bin/scontrol"
SHOWN = "NodeName=ip-10-0-128-20 Arch=x86_64 State={} ThreadsPerCore=1 CurrentWatts=0 AveWatts=0"


def shown(state: str, reason: str | None = None) -> str:
    """Return what `scontrol --oneliner show node` prints."""
    return SHOWN.format(state) + (
        f"  Reason={reason} [root@2026-01-01T00:00:00]\n" if reason else "\n"
    )


GPU = Hardware("x86_64", "gpu", accelerators=8, efa_interfaces=32, nvme_gb=0)


def options(hardware: Hardware) -> NodeOptions:
    """Return options by which all workers are made of this."""
    return replace(NODE_OPTIONS, instance_types={"hands": ("ml.x",)}, hardware={"ml.x": hardware})


def check(role: Role, **changes: Any) -> SelfCheck:
    step = SelfCheck(node(role, **changes))
    machine = machine_of(step.node)
    machine.reply(f"{SCONTROL} ping", "Slurmctld(primary) at ip-10-0-128-10 is UP\n")
    machine.reply(f"{SCONTROL} --oneliner show node ip-10-0-128-20", shown("IDLE"))
    machine.reply("/opt/slurm/bin/sacctmgr", "dev\n")
    return step


class TestEveryRole:
    @pytest.mark.parametrize("role", Role)
    def test_a_sound_node_passes(self, role: Role) -> None:
        assert not check(role).apply().startswith("warning")

    @pytest.mark.parametrize("role", Role)
    def test_it_is_never_done_so_that_it_can_be_repeated(self, role: Role) -> None:
        assert not check(role).is_done()

    @pytest.mark.parametrize("role", Role)
    def test_a_file_system_that_cannot_be_written_fails(self, role: Role) -> None:
        step = check(role)
        machine_of(step.node).fail("tee /fsx/", "Read-only file system")
        with pytest.raises(NotYet, match="Read-only file system"):
            step.apply()

    @pytest.mark.parametrize("role", Role)
    def test_a_file_system_that_is_not_mounted_fails(self, role: Role) -> None:
        step = check(role)
        machine_of(step.node).files["/proc/self/mounts"] = ""
        with pytest.raises(NotYet, match="nothing is mounted at /fsx"):
            step.apply()

    @pytest.mark.parametrize("role", Role)
    def test_every_file_system_is_checked_also_those_of_hyperpod(self, role: Role) -> None:
        home = replace(OPENZFS, mounted_by_hyperpod=True)
        with pytest.raises(NotYet, match="nothing is mounted at /home"):
            check(role, file_systems=(LUSTRE, home)).apply()

    @pytest.mark.parametrize("role", Role)
    def test_a_cluster_without_file_systems_passes(self, role: Role) -> None:
        check(role, file_systems=()).apply()


class TestController:
    def test_slurmctld_must_answer(self) -> None:
        step = check(Role.CONTROLLER)
        machine_of(step.node).fail(f"{SCONTROL} ping", "Slurmctld(primary) is DOWN")
        with pytest.raises(NotYet, match="is DOWN"):
            step.apply()

    def test_the_cluster_must_be_in_the_accounting_database(self) -> None:
        step = check(Role.CONTROLLER)
        machine_of(step.node).reply("/opt/slurm/bin/sacctmgr", "\n")
        with pytest.raises(NotYet, match="has not registered the cluster"):
            step.apply()

    def test_without_accounting_its_database_is_not_asked(self) -> None:
        step = check(Role.CONTROLLER, accounting=False)
        assert step.apply() == "slurmctld is up"
        assert not machine_of(step.node).did("/opt/slurm/bin/sacctmgr")


class TestLoginAndWorker:
    @pytest.mark.parametrize("role", [Role.LOGIN, Role.WORKER])
    def test_slurmd_must_run(self, role: Role) -> None:
        step = check(role)
        machine_of(step.node).fail("systemctl is-active --quiet slurmd")
        machine_of(step.node).reply("journalctl", "fatal: munge is down\n")
        with pytest.raises(NotYet, match="slurmd does not run: fatal: munge is down"):
            step.apply()

    @pytest.mark.parametrize(
        ("role", "warning"),
        [
            (Role.LOGIN, "warning: slurm.conf does not list ip-10-0-128-11; commands work"),
            (Role.WORKER, "warning: ip-10-0-128-20 joins when slurm.conf lists it"),
        ],
    )
    def test_a_node_without_a_line_passes_with_a_warning(self, role: Role, warning: str) -> None:
        step = check(role)
        machine_of(step.node).fail("systemctl is-active --quiet slurmd")
        machine_of(step.node).reply(
            "journalctl", "slurmd: fatal: Unable to determine this slurmd's NodeName\n"
        )
        assert step.apply() == warning

    def test_which_daemon_a_login_node_has_is_hyperpods_business_when_extended(self) -> None:
        step = check(Role.LOGIN, mode=Mode.EXTENDED)
        machine_of(step.node).fail("systemctl is-active --quiet slurmd")
        assert step.apply() == "Slurm's commands work on this node"

    def test_commands_must_work_on_a_login_node(self) -> None:
        step = check(Role.LOGIN)
        machine_of(step.node).fail("/opt/slurm/bin/sinfo", "Unable to contact slurm controller")
        with pytest.raises(NotYet, match="Unable to contact"):
            step.apply()


class TestAccelerators:
    GPUS = f"{shown('IDLE')} Gres=gpu:8"
    NONE = f"{shown('IDLE')} Gres=(null)"

    def test_gpus_that_slurm_does_not_count_fail_the_node(self) -> None:
        step = check(Role.WORKER, node=options(GPU))
        machine_of(step.node).reply(f"{SCONTROL} --oneliner show node ip-10-0-128-20", self.GPUS)
        assert step.apply() == "registered with Slurm as IDLE"
        machine_of(step.node).reply(f"{SCONTROL} --oneliner show node ip-10-0-128-20", self.NONE)
        with pytest.raises(NotYet, match="lists no gpu for this node") as failure:
            step.apply()
        assert "GresTypes" in failure.value.fix

    def test_neuron_devices_that_slurm_does_not_count_are_told_of(self) -> None:
        assert "warning: Slurm lists no neuron" in judge_accelerators(self.NONE, "neuron")

    def test_a_node_without_accelerators_has_nothing_to_count(self) -> None:
        assert judge_accelerators(self.NONE, "") == ""


class TestJudgeNode:
    @pytest.mark.parametrize("state", ["IDLE", "IDLE+CLOUD", "MIXED", "ALLOCATED", "IDLE+DRAIN"])
    def test_a_registered_node_passes(self, state: str) -> None:
        assert judge_node(shown(state, "any")) == f"registered with Slurm as {state}"

    @pytest.mark.parametrize("state", ["UNKNOWN", "IDLE*", "DOWN*+CLOUD", "DOWN+NOT_RESPONDING"])
    def test_a_node_that_slurmctld_has_not_heard_of_is_waited_for(self, state: str) -> None:
        with pytest.raises(NotYet, match="has not heard of this node yet"):
            judge_node(shown(state, "Not responding"))

    @pytest.mark.parametrize("state", ["IDLE+CLOUD+POWERED_DOWN", "IDLE+CLOUD+POWERING_UP"])
    def test_a_cloud_node_whose_slurmd_never_spoke_is_waited_for(self, state: str) -> None:
        with pytest.raises(NotYet, match="has not heard of this node yet"):
            judge_node(f"{shown(state, 'any')} SlurmdStartTime=None")
        judge_node(f"{shown(state, 'any')} SlurmdStartTime=2026-11-20T12:00:00")

    @pytest.mark.parametrize("state", ["DOWN+INVALID_REG", "IDLE+DRAIN+INVALID_REG"])
    def test_a_node_that_slurm_refuses_fails_with_its_reason(self, state: str) -> None:
        with pytest.raises(NotYet, match=r"reason: gres/gpu count reported lower \(7 < 8\);"):
            judge_node(shown(state, "gres/gpu count reported lower (7 < 8)"))

    @pytest.mark.parametrize("reason", ["Action:Replace", "Not responding", "fan is loud: bob"])
    def test_a_node_held_down_for_its_past_passes_with_a_warning(self, reason: str) -> None:
        warning = f"warning: Slurm holds this node down, reason: {reason}"
        assert judge_node(shown("DOWN+CLOUD", reason)) == warning
