"""Workers whose scripts would disturb jobs: jobs leave before, and come back after."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_manager import SessionRequest
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.drained_run import DISTURBING, REASON, DrainedRun
from slurmpod.operations.lifecycle import RunPlan
from slurmpod.operations.slurm_remote import RemoteSlurm, SlurmView
from slurmpod.slurm.nodes import SlurmNode
from slurmpod_lifecycle.steps import STEPS
from tests.pure.operations.nodes import live
from tests.pure.operations.queued_job import a_job

NODES = tuple(
    live("workers", f"i-{number}", f"ip-10-0-0-{number}", "Running") for number in range(1, 8)
)
NAMES = {node.instance_id: node.name for node in NODES}


class Slurm(RemoteSlurm):
    """Slurm with busy nodes, whose jobs end while somebody waits; some are held for a reason."""

    def __init__(self, busy: Collection[str] = (), **reasons: str) -> None:
        self._busy = {NAMES[f"i-{number}"] for number in busy}
        self._reasons = {NAMES[f"i-{number[1:]}"]: reason for number, reason in reasons.items()}
        self.done: list[str] = []

    def look(self, names: Collection[str], *, seconds: int = 0) -> SlurmView:
        if seconds:
            self._busy -= set(names)
        nodes = {name: SlurmNode(name, self._state(name), self._reason(name)) for name in names}
        jobs = [a_job("7", "alice", "1:00", name, "train") for name in names if name in self._busy]
        return SlurmView(nodes, tuple(jobs))

    def drain(self, names: Collection[str], reason: str) -> None:
        assert reason == REASON
        self.done += [f"drain {name}" for name in names]

    def resume(self, names: Collection[str]) -> None:
        self.done += [f"resume {name}" for name in names]

    def _state(self, name: str) -> frozenset[str]:
        words = {"ALLOCATED"} if name in self._busy else {"IDLE"}
        return frozenset(words | ({"DRAIN"} if name in self._reasons else set()))

    def _reason(self, name: str) -> str:
        return self._reasons.get(name, "")


class Answers(NodeSessions):
    """Nodes that tell what their scripts did, and in a dry run that this step would be done.

    Without a step a dry run has no session.
    """

    def __init__(self, slurm: Slurm, step: str, failing: Collection[str] = ()) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self._slurm, self._step, self._failing = slurm, step, failing

    def output(self, request: SessionRequest, patience_seconds: float | None = None) -> str:
        name = NAMES[f"i-{request.target.rpartition('-')[2]}"]
        is_dry = "--dry-run" in request.command
        if is_dry and not self._step:
            raise AwsUnavailable("cannot open a session: ThrottlingException")
        if not is_dry:
            self._slurm.done.append(f"run {name}")
        return report(name, self._step, "would run" if is_dry else "done", name in self._failing)


def report(name: str, step: str, state: str, failed: bool) -> str:
    entry: dict[str, Any] = {
        "step": step, "state": state, "required": True, "seconds": 1.0, "detail": "", "fix": "",
    }  # fmt: skip
    data = {
        "node": {"name": name},
        "image": None,
        "succeeded": not failed,
        "summary": "",
        "slowest_path": [],
        "steps": [entry],
    }
    return f"slurmpod-report {json.dumps(data)}"


def run(slurm: Slurm, count: int, step: str = "mount_fsx", failing: str = "") -> list[str]:
    """Run the scripts on so many nodes; return what was done, in order."""
    plan = RunPlan("us-west-2", "abcde01234yz", "s3://bucket/x", NODES[:count], dry_run=False)
    failed = {NAMES[f"i-{number}"] for number in failing}
    out = DrainedRun(
        {"workers"}, slurm, Answers(slurm, step, failed), lambda _: None, slurm.done.append
    )
    out.run(plan)
    return slurm.done


ONE, TWO = NAMES["i-1"], NAMES["i-2"]


def test_idle_nodes_are_left_as_they_are() -> None:
    assert run(Slurm(), 1) == [f"run {ONE}"]


def test_a_step_that_leaves_jobs_alone_waits_for_none() -> None:
    assert run(Slurm(busy="1"), 1, step="users") == [f"run {ONE}"]


def test_jobs_end_before_a_step_that_disturbs_them() -> None:
    drained, waits, *then = run(Slurm(busy="1"), 1)
    assert drained == f"drain {ONE}"
    assert waits.startswith(f"waiting for the jobs 7 on {ONE}")
    assert then == [f"run {ONE}", f"resume {ONE}"]


def test_jobs_end_where_a_dry_run_gives_no_report() -> None:
    drained, waits, *then = run(Slurm(busy="1"), 1, step="")
    assert drained == f"drain {ONE}"
    assert waits.startswith("waiting for the jobs 7")
    assert then == [f"run {ONE}", f"resume {ONE}"]


def test_few_nodes_at_a_time_are_without_jobs() -> None:
    done = run(Slurm(busy="123456"), 7)
    drained = [at for at, each in enumerate(done) if each.startswith("drain")]
    resumed = [at for at, each in enumerate(done) if each.startswith("resume")]
    assert done[0] == f"run {NAMES['i-7']}"
    assert len(drained) == len(resumed) == 6
    assert max(drained[:4]) < min(resumed[:4]) <= max(resumed[:4]) < min(drained[4:])


def test_a_node_that_fails_stays_drained_and_is_the_last() -> None:
    done = run(Slurm(busy="12345"), 5, failing="2")
    assert f"resume {TWO}" not in done
    assert f"{TWO}: drained until the scripts succeed there" in done
    assert not any(NAMES["i-5"] in each for each in done)


def test_what_others_hold_stays_held() -> None:
    slurm = Slurm(busy="1", n1="bad fan")
    assert [each for each in run(slurm, 1) if "waiting" not in each] == [f"run {ONE}"]


def test_what_an_interrupted_run_holds_is_given_back() -> None:
    assert run(Slurm(n1=f"{REASON}, since 2026-11-23T10:00:00"), 1) == [
        f"run {ONE}",
        f"resume {ONE}",
    ]


def test_scripts_may_mend_what_keeps_slurm_from_answering(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slurm = Slurm(busy="1")

    def silent(*_: Any, **__: Any) -> SlurmView:
        raise AwsUnavailable("the controller did not answer")

    monkeypatch.setattr(slurm, "look", silent)
    told, ran = run(slurm, 1)
    assert told == "the controller did not answer; jobs are not waited for"
    assert ran == f"run {ONE}"


def test_steps_that_disturb_are_steps() -> None:
    assert {step.name for step in STEPS} >= DISTURBING
