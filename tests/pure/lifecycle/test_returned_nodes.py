from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from slurmpod_lifecycle.report import TAKES_JOBS, summary
from slurmpod_lifecycle.returned_nodes import SCONTROL, returned
from slurmpod_lifecycle.runner import Runner
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.returned_nodes import PROGRAM, ReturnedNodes
from slurmpod_lifecycle.steps.takes_jobs import TakesJobs
from slurmpod_lifecycle.units import UNITS
from tests.pure.lifecycle.fakes import SLURM, machine_of, node

SHOW = f"{SCONTROL} --oneliner show node"
BOOT = "2026-11-20T10:00:00"
BEFORE, AFTER = "2026-11-20T09:58:00", "2026-11-20T10:03:00"
REBOOTED = "Node unexpectedly rebooted"


def shown(state: str, reason: str, by: str = f"slurm@{BEFORE}", name: str = "ip-1") -> str:
    start = f"NodeName={name} Arch=x86_64 State={state} BootTime={BOOT} SlurmdStartTime={AFTER}"
    return f"{start} Reason={reason} [{by}]\n"


class TestReturned:
    @pytest.mark.parametrize(
        ("state", "reason", "by"),
        [
            ("DOWN+CLOUD", REBOOTED, f"slurm@{AFTER}"),
            ("DOWN+CLOUD", f"Action:Reboot : {REBOOTED}", f"slurm@{AFTER}"),
            ("DOWN+CLOUD", "Action:Reboot", f"root@{BEFORE}"),
            ("IDLE+CLOUD+FAIL", "Action:Replace", f"root@{BEFORE}"),
            ("DOWN+CLOUD+FAIL", "Action:Replace : Not responding", f"slurm@{BEFORE}"),
            ("DOWN", "Not responding", f"slurm@{BEFORE}"),
        ],
    )
    def test_what_slurm_or_hyperpod_caused_ends_with_the_boot_that_followed(
        self, state: str, reason: str, by: str
    ) -> None:
        assert returned(shown(state, reason, by)) == "ip-1"

    @pytest.mark.parametrize(
        "reason", ["fan is loud", f"fan is loud : {REBOOTED}", "Low RealMemory"]
    )
    def test_what_somebody_decided_or_slurm_found_stays(self, reason: str) -> None:
        assert returned(shown("DOWN+CLOUD", reason)) == ""

    def test_what_stands_behind_the_reason_does_not_matter(self) -> None:
        line = shown("DOWN", REBOOTED, f"slurm@{AFTER}").strip()
        assert returned(f"{line} ReservationName=hyperpod-deep-health-check\n") == "ip-1"

    def test_an_order_to_replace_the_instance_that_runs_stays(self) -> None:
        assert returned(shown("IDLE+FAIL", "Action:Replace", f"root@{AFTER}")) == ""

    @pytest.mark.parametrize(
        "state",
        ["IDLE", "IDLE+DRAIN", "DOWN*+CLOUD", "DOWN+CLOUD+NOT_RESPONDING", "DOWN+POWERING_UP"],
    )
    def test_a_node_that_is_not_down_or_not_back_is_left_alone(self, state: str) -> None:
        assert returned(shown(state, REBOOTED, f"slurm@{AFTER}")) == ""

    def test_a_node_that_never_came_up_is_left_alone(self) -> None:
        assert returned(shown("DOWN", REBOOTED).replace(f"BootTime={BOOT}", "BootTime=None")) == ""
        assert returned("") == ""


class TestProgram:
    """The program itself, on its own, with an `scontrol` that prints what the test says."""

    def run(self, folder: Path, shown: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        (folder / "shown").write_text(shown)
        scontrol = folder / "scontrol"
        scontrol.write_text(
            f"#!/bin/sh\necho $* >>{folder}/asked\n"
            f"[ $2 != show ] || cat {folder}/shown\nexit {status}\n"
        )
        scontrol.chmod(0o755)
        for path, text in PROGRAM.files().items():
            copy = folder / Path(path).relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text.replace(SCONTROL, str(scontrol)))
        command = [sys.executable, "-S", str(folder / PROGRAM.path.lstrip("/"))]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={})

    def test_resumes_all_that_are_back_at_once(self, tmp_path: Path) -> None:
        lines = [shown("DOWN", REBOOTED, name=name) for name in ("ip-1", "ip-2")]
        ended = self.run(tmp_path, "".join([*lines, shown("DOWN", "odd", name="ip-3")]))
        assert ended.stdout == "back, and taking jobs again: ip-1,ip-2\n"
        asked = (tmp_path / "asked").read_text().splitlines()
        assert asked[1:] == ["--oneliner update nodename=ip-1,ip-2 state=resume"]

    def test_changes_nothing_where_no_node_is_held(self, tmp_path: Path) -> None:
        assert self.run(tmp_path, shown("IDLE", REBOOTED)).returncode == 0
        assert (tmp_path / "asked").read_text() == "--oneliner show node\n"

    def test_fails_when_slurm_does_not_answer(self, tmp_path: Path) -> None:
        ended = self.run(tmp_path, "", status=1)
        assert ended.returncode == 1
        assert "returned non-zero exit status 1" in ended.stderr


class TestStep:
    def test_the_timer_runs_a_copy_that_stays(self) -> None:
        step = ReturnedNodes(node(Role.CONTROLLER))
        assert not step.is_done()
        step.apply()
        machine = machine_of(step.node)
        assert step.is_done()
        assert machine.did("systemctl restart slurmpod-returned-nodes.timer")
        assert PROGRAM.path in machine.files[f"{UNITS}/slurmpod-returned-nodes.service"]

    @pytest.mark.parametrize("name", ["ReturnToService", "returntoservice"])
    def test_who_sets_return_to_service_gets_what_slurm_does(self, name: str) -> None:
        wanted = replace(SLURM, configuration={name: "1"})
        assert not ReturnedNodes.applies_to(node(Role.CONTROLLER, slurm=wanted))
        assert ReturnedNodes.applies_to(node(Role.CONTROLLER))


class TestTakesJobs:
    def step(self, description: str) -> TakesJobs:
        step = TakesJobs(node(Role.WORKER))
        machine_of(step.node).reply(SHOW, description)
        return step

    def test_a_node_in_service_passes(self) -> None:
        assert self.step("NodeName=ip-1 State=IDLE+CLOUD\n").is_done()

    def test_a_node_that_somebody_drained_passes(self) -> None:
        assert self.step(shown("IDLE+CLOUD+DRAIN", "fan is loud", f"alice@{AFTER}")).is_done()

    @pytest.mark.parametrize(("counted", "waits"), [(0, True), (7, False)])
    def test_accelerators_that_slurm_counted_too_early_are_waited_for(
        self, counted: int, waits: bool
    ) -> None:
        reason = f"gres/gpu count reported lower than configured ({counted} < 8)"
        step = self.step(shown("IDLE+CLOUD+DRAIN", reason))
        with pytest.raises(NotYet if waits else StepFailed, match="Slurm holds this node down"):
            step.apply()

    def test_a_node_that_slurm_does_not_list_yet_passes(self) -> None:
        step = self.step("")
        machine_of(step.node).fail(SHOW, "Node ip-10-0-128-20 not found")
        assert step.is_done()

    @pytest.mark.parametrize(
        ("state", "reason"),
        [
            ("DOWN+CLOUD", "fan is loud"),
            ("IDLE+FAIL", "Action:Replace"),
            ("IDLE+DRAIN", "gres/gpu count reported lower than configured (7 < 8)"),
            ("IDLE+DRAIN", "gres/gpu count reported lower than configured (0 < 8)"),
        ],
    )
    def test_one_that_is_held_down_is_an_error_in_the_last_line_but_no_failed_node(
        self, state: str, reason: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(TakesJobs, "timeout_seconds", 0.02)
        step = self.step(shown(state, reason))
        (result,) = Runner(1, lambda: iter([9.0])).run([step])
        assert (result.step, result.is_fatal) == (TAKES_JOBS, False)
        line = summary([result], step.node)
        assert line.startswith("OK: worker ip-10-0-128-20 is set up, but FAILED: Slurm holds")
        assert f"reason: {reason}" in line
        assert "; fix: " in line
