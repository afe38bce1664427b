from __future__ import annotations

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.slurm import SLURM_CONF
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.steps.slurmctld import (
    CHANGED_JUST_NOW,
    Slurmctld,
    complete_slurm_conf,
    includes_accounting,
)
from tests.pure.lifecycle.fakes import machine_of, node

CONF = """\
ClusterName=dev
SlurmctldHost=ip-10-0-128-10(10.0.128.10)
NodeName=ip-10-0-128-20 CPUs=4
PartitionName=dev Nodes=ALL
"""
PING = "Slurmctld(primary) at ip-10-0-128-10 is UP\n"


def step(conf: str | None = CONF, *, accounting: bool = True) -> Slurmctld:
    step = Slurmctld(node(Role.CONTROLLER, accounting=accounting))
    machine = machine_of(step.node)
    machine.reply("/opt/slurm/bin/scontrol ping", PING)
    if conf is not None:
        machine.files[SLURM_CONF] = conf
    return step


class TestApply:
    def test_accounting_is_included_before_the_first_start(self) -> None:
        controller = step()
        controller.apply()
        machine = machine_of(controller.node)
        assert machine.files[SLURM_CONF] == f"{CONF}include accounting.conf\n"
        assert machine.did("env SYSTEMD_OFFLINE=1 systemctl enable --quiet slurmctld")
        assert machine.did("systemctl restart slurmctld")

    def test_the_line_is_added_once(self) -> None:
        controller = step()
        controller.apply()
        controller.apply()
        text = machine_of(controller.node).files[SLURM_CONF]
        assert text.count("include") == 1

    def test_a_daemon_with_its_whole_configuration_is_not_restarted(self) -> None:
        controller = step(f"{CONF}include accounting.conf\n")
        controller.apply()
        assert not machine_of(controller.node).did("systemctl restart")

    def test_without_accounting_the_file_stays_as_hyperpod_wrote_it(self) -> None:
        controller = step(accounting=False)
        controller.apply()
        assert machine_of(controller.node).files[SLURM_CONF] == CONF
        assert machine_of(controller.node).did("systemctl start slurmctld")

    def test_nothing_starts_before_slurm_conf_is_there(self) -> None:
        controller = step(None)
        with pytest.raises(NotYet, match=r"there is no /opt/slurm/etc/slurm\.conf") as failure:
            controller.apply()
        assert "sagemaker-cluster-agent.log" in failure.value.fix
        assert machine_of(controller.node).ran == []

    def test_a_daemon_that_ends_says_why(self) -> None:
        controller = step()
        machine_of(controller.node).fail("systemctl restart slurmctld")
        machine_of(controller.node).reply("journalctl", "fatal: CLUSTER ID MISMATCH\nFailed\n")
        with pytest.raises(NotYet, match="slurmctld does not start: fatal: CLUSTER ID MISMATCH"):
            controller.apply()

    def test_a_daemon_that_does_not_answer_is_waited_for_with_its_last_words(self) -> None:
        controller = step()
        ping = PING.replace("UP", "DOWN")
        machine_of(controller.node).reply("/opt/slurm/bin/scontrol ping", ping)
        machine_of(controller.node).reply("journalctl", "fatal: No switches configured\n")
        with pytest.raises(NotYet, match=r"is DOWN.*fatal: No switches configured"):
            controller.apply()


class TestIsDone:
    def test_when_it_answers_with_its_whole_configuration(self) -> None:
        assert step(f"{CONF}include accounting.conf\n").is_done()

    def test_not_when_hyperpod_wrote_the_file_anew(self) -> None:
        assert not step().is_done()

    def test_not_when_it_is_stopped(self) -> None:
        controller = step(accounting=False)
        machine_of(controller.node).fail("systemctl is-active")
        assert not controller.is_done()


class TestSlurmConf:
    @pytest.mark.parametrize(
        "host",
        [
            "SlurmctldHost=ip-10-0-128-10(10.0.128.10)",
            "SlurmctldHost=controller(10.0.128.10)",
            "SlurmctldHost=ip-10-0-128-10",
            "  slurmctldhost = 10.0.128.10",
            "SlurmctldHost=other(10.0.128.9)\nSlurmctldHost=ip-10-0-128-10(10.0.128.10)",
        ],
    )
    def test_names_this_controller(self, host: str) -> None:
        controller = node(Role.CONTROLLER)
        text = f"{host}\nPartitionName=dev Nodes=ALL\n"
        machine_of(controller).files[SLURM_CONF] = text
        assert complete_slurm_conf(controller) == text

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "names no controller"),
            ("ClusterName=dev\n", "names no controller"),
            ("# SlurmctldHost=ip-10-0-128-10\nPartitionName=dev\n", "names no controller"),
            ("SlurmctldHost=a(10.0.128.1)\nPartitionName=dev\n", r"names a\(10\.0\.128\.1\), not"),
            ("SlurmctldHost=b(10.0.128.100)\nPartitionName=dev\n", "not this node"),
            ("SlurmctldHost=ip-10-0-128-10\n", "has no partition yet"),
        ],
    )
    def test_is_waited_for_until_it_is_whole(self, text: str, reason: str) -> None:
        controller = node(Role.CONTROLLER)
        machine_of(controller).files[SLURM_CONF] = text
        machine_of(controller).reply(" ".join(CHANGED_JUST_NOW), f"{SLURM_CONF}\n")
        with pytest.raises(NotYet, match=reason):
            complete_slurm_conf(controller)

    def test_is_whole_without_partitions_when_nobody_has_written_to_it_for_a_while(self) -> None:
        controller = step("SlurmctldHost=ip-10-0-128-10\n", accounting=False)
        controller.apply()
        assert machine_of(controller.node).did("systemctl start slurmctld")

    @pytest.mark.parametrize(
        "line",
        [
            "include accounting.conf",
            "Include accounting.conf",
            "  INCLUDE\t/opt/slurm/etc/accounting.conf  ",
        ],
    )
    def test_any_way_to_include_accounting_counts(self, line: str) -> None:
        assert includes_accounting(f"ClusterName=dev\n{line}\nNodeName=x\n")

    @pytest.mark.parametrize(
        "line", ["# include accounting.conf", "include accounting.conf.old", "include my-conf"]
    )
    def test_what_looks_like_it_does_not(self, line: str) -> None:
        assert not includes_accounting(f"{line}\n")
