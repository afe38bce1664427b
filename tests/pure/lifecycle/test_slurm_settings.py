from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slurmpod_lifecycle.settings import Hardware, Mode, Role
from slurmpod_lifecycle.settings import SlurmSettings as Wanted
from slurmpod_lifecycle.slurm_files import (
    IN_FORCE,
    KEEPER_PROGRAM,
    LIMITS_PROGRAM,
    SLURMPOD_CONF,
    START_PROGRAM,
    keeper_program,
    limits_program,
    slurmpod_conf,
    start_program,
)
from slurmpod_lifecycle.step import CommandFailed, NotYet, StepFailed
from slurmpod_lifecycle.steps.shared_state import TAKEOVER_PROGRAM
from slurmpod_lifecycle.steps.slurm_settings import CANDIDATE, SlurmSettings
from tests.pure.lifecycle.fakes import NODE_OPTIONS, SLURM, controller_of_two, machine_of, node

WANTED = replace(
    SLURM,
    configuration={"SlurmdTimeout": "120", "KillWait": "60"},
    partitions={"cpu": {"MaxTime": "1-00:00:00", "AllowQos": "high,low"}},
)
PLAIN = Hardware("x86_64", "", accelerators=0, efa_interfaces=0, nvme_gb=0)
GPU = Hardware("x86_64", "gpu", accelerators=8, efa_interfaces=0, nvme_gb=0)
GPU_OPTIONS = replace(NODE_OPTIONS, hardware={"ml.p5.48xlarge": GPU, "ml.m5.large": PLAIN})
RECONFIGURE = "/opt/slurm/bin/scontrol reconfigure"
IS_ACTIVE = "systemctl is-active --quiet slurmctld"


def step(wanted: Wanted = WANTED, **changes: Any) -> SlurmSettings:
    step = SlurmSettings(node(Role.CONTROLLER, slurm=wanted, **changes))
    machine_of(step.node).reply("/opt/slurm/bin/scontrol ping", "Slurmctld(primary) is UP\n")
    return step


class TestStep:
    def test_before_the_first_start_files_are_written_and_nothing_is_reconfigured(self) -> None:
        settings = step()
        machine_of(settings.node).fail(IS_ACTIVE)
        machine_of(settings.node).fail("systemctl is-enabled --quiet slurmpod-keep")
        settings.apply()
        machine = machine_of(settings.node)
        assert machine.files[SLURMPOD_CONF] == slurmpod_conf(WANTED)
        assert machine.access[LIMITS_PROGRAM] == (0o755, "")
        assert machine.did("systemctl enable --quiet slurmpod-keep")
        assert machine.did("systemctl restart slurmpod-keep.path")
        assert not machine.did(RECONFIGURE)

    def test_a_running_slurmctld_reads_them_at_once(self) -> None:
        settings = step()
        settings.apply()
        ran = machine_of(settings.node).ran
        assert ran.index("systemctl start slurmpod-keep") < ran.index(RECONFIGURE)

    def test_what_the_keeper_has_let_it_read_is_not_read_twice(self) -> None:
        settings = step()
        machine = machine_of(settings.node)
        machine.files[IN_FORCE] = slurmpod_conf(WANTED)
        settings.apply()
        assert machine.did("systemctl start slurmpod-keep")
        assert not machine.did(RECONFIGURE)

    def test_a_limit_alone_needs_no_reconfiguration(self) -> None:
        settings = step()
        settings.apply()
        machine = machine_of(settings.node)
        machine.ran.clear()
        limits = replace(WANTED, partitions={"cpu": {"MaxTime": "2-00:00:00"}})
        changed = SlurmSettings(replace(settings.node, settings=step(limits).node.settings))
        assert not changed.is_done()
        changed.apply()
        assert changed.is_done()
        assert not machine.did(RECONFIGURE)

    def test_systemd_reads_no_units_again_that_it_knows(self) -> None:
        settings = step()
        settings.apply()
        reloading = ("systemctl daemon-reload", "systemctl enable")
        assert not any(map(machine_of(settings.node).did, reloading))
        machine_of(settings.node).reply(
            "systemctl show --property=NeedDaemonReload,LoadState,DropInPaths --value"
            " slurmpod-keep.path",
            "yes\n",
        )
        settings.apply()
        assert machine_of(settings.node).did("systemctl daemon-reload")

    def test_a_second_run_finds_it_done(self) -> None:
        settings = step()
        assert not settings.is_done()
        settings.apply()
        assert settings.is_done()

    @pytest.mark.parametrize("unit", ["slurmpod-keep.service", "slurmpod-keep.path"])
    def test_units_of_an_earlier_version_are_written_anew(self, unit: str) -> None:
        settings = step()
        settings.apply()
        machine = machine_of(settings.node)
        ours = machine.files[f"/etc/systemd/system/{unit}"]
        machine.files[f"/etc/systemd/system/{unit}"] = "[Unit]\nDescription=earlier\n"
        assert not settings.is_done()
        settings.apply()
        assert machine.files[f"/etc/systemd/system/{unit}"] == ours

    def test_settings_that_slurmctld_has_not_taken_are_tried_again(self) -> None:
        settings = step()
        machine_of(settings.node).fail(RECONFIGURE)
        with pytest.raises(CommandFailed):
            settings.apply()
        assert not settings.is_done()

    def test_a_slurmctld_that_ends_is_waited_for(self) -> None:
        settings = step()
        machine_of(settings.node).reply("/opt/slurm/bin/scontrol ping", "is DOWN\n")
        with pytest.raises(NotYet, match="is DOWN"):
            settings.apply()

    def test_parameters_that_slurm_cannot_read_never_reach_slurmctld(self) -> None:
        settings = step()
        machine_of(settings.node).fail("env SLURM_CONF=", "Parsing error at unrecognized key: Foo")
        with pytest.raises(StepFailed, match="Parsing error at unrecognized key: Foo") as failure:
            settings.apply()
        assert not isinstance(failure.value, NotYet)
        assert SLURMPOD_CONF not in machine_of(settings.node).files
        assert "SlurmdTimeout=120" in machine_of(settings.node).files[CANDIDATE]

    def test_an_environment_without_settings_leaves_the_node_alone(self) -> None:
        settings = step(SLURM, accounting=False)
        assert settings.is_done()
        assert machine_of(settings.node).ran == []

    @pytest.mark.parametrize(
        "changes", [{"accounting": True}, {"accounting": False, "node": GPU_OPTIONS}]
    )
    def test_lines_that_follow_from_the_environment_are_kept_too(self, changes: Any) -> None:
        settings = step(SLURM, **changes)
        assert not settings.is_done()
        settings.apply()
        assert settings.is_done()

    def test_accelerators_are_declared_by_their_kind(self) -> None:
        settings = step(node=GPU_OPTIONS)
        settings.apply()
        assert "\ngres=gpu\n" in machine_of(settings.node).files[KEEPER_PROGRAM]

    def test_settings_that_were_removed_are_taken_back(self) -> None:
        settings = step(SLURM, accounting=False)
        machine_of(settings.node).files[SLURMPOD_CONF] = slurmpod_conf(WANTED)
        assert not settings.is_done()
        settings.apply()
        assert "SlurmdTimeout" not in machine_of(settings.node).files[SLURMPOD_CONF]
        assert machine_of(settings.node).did(RECONFIGURE)
        assert settings.is_done()

    @pytest.mark.parametrize(
        ("changes", "kept"),
        [
            ({}, True),
            ({"accounting": False}, False),
            ({"mode": Mode.EXTENDED}, False),
        ],
    )
    def test_accounting_is_kept_where_it_is_ours(self, changes: Any, kept: bool) -> None:
        settings = step(**changes)
        settings.apply()
        keeper = machine_of(settings.node).files[KEEPER_PROGRAM]
        assert ("accounting.conf" in keeper) is kept

    def test_several_controllers_still_tell_who_took_over(self) -> None:
        settings = SlurmSettings(controller_of_two(slurm=WANTED))
        machine_of(settings.node).fail(IS_ACTIVE)
        settings.apply()
        assert TAKEOVER_PROGRAM in machine_of(settings.node).files[START_PROGRAM]


class TestConf:
    def test_has_one_parameter_per_line_and_quotes_blanks(self) -> None:
        text = slurmpod_conf(replace(SLURM, configuration={"MailDomain": "a b", "KillWait": "60"}))
        assert text.splitlines()[1:] == ["KillWait=60", 'MailDomain="a b"']

    def test_names_the_program_only_where_partitions_have_limits(self) -> None:
        assert f"SlurmctldPrimaryOnProg={START_PROGRAM}" in slurmpod_conf(WANTED)
        assert "SlurmctldPrimaryOnProg" not in slurmpod_conf(SLURM)


class TestLimits:
    def test_every_partition_is_updated_though_one_fails(self) -> None:
        partitions = {"odd": {"MaxTime": "1; reboot"}, "cpu": {"MaxNodes": "1"}}
        lines = limits_program(partitions).splitlines()
        assert lines[3:] == [
            "/opt/slurm/bin/scontrol update PartitionName=odd 'MaxTime=1; reboot' || status=$?",
            "/opt/slurm/bin/scontrol update PartitionName=cpu MaxNodes=1 || status=$?",
            "exit $status",
        ]


class TestStart:
    """slurmctld 26.05 answers nobody while it waits for this program."""

    def test_does_not_wait_for_the_limits_that_slurmctld_has_to_take(self, tmp_path: Path) -> None:
        answer, told = tmp_path / "answer", tmp_path / "told"
        for pipe in (answer, told):
            os.mkfifo(pipe)
        limits = tmp_path / "limits"
        limits.write_text(f"#!/bin/sh\nread -r word <{answer}\necho $word >{told}\n")
        limits.chmod(0o755)
        program = start_program(then="").replace(LIMITS_PROGRAM, str(limits))
        done = subprocess.run(["sh", "-c", program], check=True, capture_output=True, timeout=60)
        assert (done.stdout, done.stderr) == (b"", b"")
        answer.write_text("set\n")
        assert told.read_text() == "set\n"


class TestKeeper:
    """The program itself, in a folder of its own."""

    @pytest.fixture
    def etc(self, tmp_path: Path) -> Path:
        for name in ("accounting.conf", "slurmpod.conf", "slurmpod.conf.in-force"):
            (tmp_path / name).write_text("")
        return tmp_path

    def keep(
        self,
        etc: Path,
        *,
        scontrol: str = "",
        sleep: str = ":",
        is_active: bool = False,
        gres: Sequence[str] = (),
    ) -> str:
        """Run it where `scontrol` and `sleep` are these commands, and return slurm.conf."""
        files = [str(etc / name) for name in ("accounting.conf", "slurmpod.conf")]
        program = keeper_program(*files, gres_types=gres).replace("/opt/slurm/etc", str(etc))
        program = program.replace("/opt/slurm/bin/", "")
        outside = f"systemctl() {{ return {0 if is_active else 3}; }}\nsleep() {{ {sleep}; }}\n"
        outside += f"sinfo() {{ cat {etc}/nodes; }}\n"
        outside += f"scontrol() {{ echo $* >>{etc}/asked; {scontrol or ':'}; }}\n"
        subprocess.run(["sh", "-c", outside + program], check=True)
        conf = etc / "slurm.conf"
        return conf.read_text() if conf.exists() else ""

    @pytest.mark.parametrize(
        ("is_active", "scontrol", "asked"),
        [(False, ":", 0), (True, ":", 1), (True, '[ "$(wc -l <ASKED)" = 3 ]', 3)],
    )
    def test_asks_a_running_slurmctld_to_read_it_until_it_does(
        self, etc: Path, is_active: bool, scontrol: str, asked: int
    ) -> None:
        (etc / "asked").touch()
        (etc / "slurm.conf").write_text("ClusterName=dev\n")
        command = scontrol.replace("ASKED", str(etc / "asked"))
        self.keep(etc, scontrol=command, is_active=is_active)
        self.keep(etc, scontrol=command, is_active=is_active)
        assert (etc / "asked").read_text() == "reconfigure\n" * asked

    @pytest.mark.parametrize("moment", ["scontrol reconfigure", "scontrol update", "sleep"])
    def test_puts_back_what_is_lost_while_it_runs(self, etc: Path, moment: str) -> None:
        """systemd does not start it again for a change that it could have seen itself."""
        (etc / "slurm.conf").write_text("ClusterName=dev\n")
        none = "gres/gpu count reported lower than configured (0 < 8)"
        (etc / "nodes").write_text(f"ip-1|9999-11-20T10:00:00|{none}\n")
        anew = f"[ -e {etc}/anew ] || {{ echo ClusterName=dev >{etc}/slurm.conf; >{etc}/anew; }}"
        scontrol = f'case "scontrol $1" in "{moment}") {anew} ;; esac'
        sleep = anew if moment == "sleep" else ":"
        text = self.keep(etc, scontrol=scontrol, sleep=sleep, is_active=True, gres=["gpu"])
        assert [text.count(line) for line in ("\ninclude accounting.conf\n", "GresTypes=gpu")] == [
            *(1, 1)
        ]
        asked = (etc / "asked").read_text().splitlines()
        assert asked.count("reconfigure") == 2

    def test_puts_back_what_is_missing_once(self, etc: Path) -> None:
        (etc / "slurm.conf").write_text("PartitionName=dev Nodes=ALL")
        text = self.keep(etc)
        assert text.split("\n")[0] == "PartitionName=dev Nodes=ALL"
        assert text.count("\ninclude accounting.conf\n") == 1
        assert text.count("\ninclude slurmpod.conf\n") == 1
        assert self.keep(etc) == text

    @pytest.mark.parametrize("line", ["Include slurmpod.conf", "  include\t/x/slurmpod.conf  "])
    def test_sees_the_line_however_it_is_written(self, etc: Path, line: str) -> None:
        (etc / "slurm.conf").write_text(f"include accounting.conf\n{line}\n")
        assert self.keep(etc) == f"include accounting.conf\n{line}\n"

    @pytest.mark.parametrize("line", ["# include slurmpod.conf", "include slurmpod.conf.old"])
    def test_is_not_taken_in_by_what_looks_like_it(self, etc: Path, line: str) -> None:
        (etc / "slurm.conf").write_text(f"include accounting.conf\n{line}\n")
        assert self.keep(etc).endswith("\ninclude slurmpod.conf\n")

    @pytest.mark.parametrize(
        ("line", "asks"),
        [
            ("PartitionName=dev Nodes=ALL", "show partition dev"),
            (" nodename = ip-1 CPUs=4", "show node ip-1"),
            ("NodeName=ip-1\nNodeName=ip-2", "show node ip-1,ip-2"),
        ],
    )
    def test_tells_slurmctld_of_what_came_after_its_start_unless_hyperpod_has(
        self, etc: Path, line: str, asks: str
    ) -> None:
        (etc / "slurm.conf").write_text(f"{self.keep(etc)}NodeName=DEFAULT CPUs=1\n")
        (etc / "slurm.conf").write_text(f"{self.keep(etc)}{line}\n")
        self.keep(etc, is_active=True)
        assert (etc / "asked").read_text() == f"{asks}\n"
        self.keep(etc, is_active=True, scontrol='[ "$1" != show ] || { echo $3 not found; false; }')
        assert (etc / "asked").read_text() == f"{asks}\n{asks}\nreconfigure\n"

    @pytest.mark.parametrize(("answers_after", "fails"), [(3, False), (9, True)])
    def test_lets_a_slurmctld_that_starts_read_the_file_by_itself(
        self, etc: Path, answers_after: int, fails: bool
    ) -> None:
        (etc / "slurm.conf").write_text("ClusterName=dev\n")
        (etc / "slurm.conf").write_text(f"{self.keep(etc)}NodeName=ip-1\n")
        answers = f"[ $(wc -l <{etc}/asked) -ge {answers_after} ]"
        starts = f"{answers} || {{ echo Unable to contact slurm controller; false; }}"
        with pytest.raises(subprocess.CalledProcessError) if fails else nullcontext():
            self.keep(etc, is_active=True, scontrol=starts)
        assert "reconfigure" not in (etc / "asked").read_text()

    def test_lets_slurmctld_read_news_of_ours_and_lost_lines_in_one_go(self, etc: Path) -> None:
        (etc / "slurm.conf").write_text("ClusterName=dev\n")
        (etc / "slurmpod.conf").write_text("KillWait=60\n")
        self.keep(etc, is_active=True)
        self.keep(etc, is_active=True)
        assert (etc / "asked").read_text() == "reconfigure\n"
        assert (etc / "slurmpod.conf.in-force").read_text() == "KillWait=60\n"

    def test_tries_again_at_its_next_start_what_slurmctld_did_not_take(self, etc: Path) -> None:
        (etc / "slurm.conf").write_text(self.keep(etc) or "ClusterName=dev\n")
        (etc / "slurmpod.conf").write_text("KillWait=60\n")
        with pytest.raises(subprocess.CalledProcessError):
            self.keep(etc, is_active=True, scontrol="false")
        assert (etc / "slurmpod.conf.in-force").read_text() == ""
        self.keep(etc, is_active=True)
        assert (etc / "slurmpod.conf.in-force").read_text() == "KillWait=60\n"

    def test_declares_accelerators_where_nobody_does(self, etc: Path) -> None:
        (etc / "slurm.conf").write_text("ClusterName=dev")
        text = self.keep(etc, gres=["neuron", "gpu"])
        assert text.endswith("\nGresTypes=gpu,neuron\n")
        assert self.keep(etc, gres=["neuron", "gpu"]) == text

    def test_resumes_nodes_that_were_counted_while_none_were_declared(self, etc: Path) -> None:
        none = "gres/gpu count reported lower than configured (0 < 8)"
        (etc / "nodes").write_text(
            f"ip-1|9999-11-20T10:00:00|{none}\n"
            f"ip-1|9999-11-20T10:00:00|{none}\n"  # once for each of its partitions
            f"ip-2|2026-11-20T10:00:00|{none}\n"
            f"ip-3|9999-11-20T10:00:00|{none.replace('0 <', '7 <')}\n"
            f"ip-4|9999-11-20T10:00:00|{none} : fan is loud\n"
            "ip-5|Unknown|none\n"
        )
        (etc / "slurm.conf").write_text("ClusterName=dev\n")
        self.keep(etc, gres=["gpu"], is_active=True)
        asked = (etc / "asked").read_text().splitlines()
        assert asked[0] == "reconfigure"
        assert set(asked[1:]) == {"update nodename=ip-1 state=resume"}

    @pytest.mark.parametrize(
        ("file", "line"), [("slurm", "GresTypes=gpu"), ("accounting", " grestypes = x")]
    )
    def test_leaves_what_is_declared_as_it_is(self, etc: Path, file: str, line: str) -> None:
        (etc / "slurm.conf").write_text("ClusterName=dev\n")
        (etc / f"{file}.conf").write_text(f"{line}\n")
        assert self.keep(etc, gres=["gpu"]).lower().count("grestypes") == (file == "slurm")

    def test_waits_for_slurm_conf_and_includes_nothing_that_is_not_there(self, etc: Path) -> None:
        assert self.keep(etc) == ""
        (etc / "slurm.conf").write_text("ClusterName=dev\n")
        (etc / "accounting.conf").unlink()
        assert "accounting.conf" not in self.keep(etc)
