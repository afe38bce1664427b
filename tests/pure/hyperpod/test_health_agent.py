"""Which nodes the health agent repairs, and which steps may run again, without any machine."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from embedded_aws.cluster import DEEP_HEALTH_CHECK, Cluster, ClusterFailed, ClusterNode
from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.hyperpod import health_agent, recovery
from slurmpod.rehearsal.hyperpod.cluster_agent import hostname
from slurmpod.rehearsal.hyperpod.health_agent import HealthAgent, ResumeAction
from slurmpod.rehearsal.hyperpod.nodes_at_work import NodesAtWork
from slurmpod.slurm.nodes import SlurmNode
from tests.pure.hyperpod.clusters import cluster, group, node, slurm

PATIENCE_SECONDS = 60
"""Far more than anything takes, also on a machine that has much else to do."""

A, B = "ip-10-0-0-5", "ip-10-0-0-6"


class Slurm:
    """A Slurm with one job on all workers, in which an administrator may have set states."""

    def __init__(self) -> None:
        self.states = {A: SlurmNode(A, frozenset({"IDLE"})), B: SlurmNode(B)}
        self.did: list[str] = []
        self.requeued: list[str] = []
        self.printed = "0"
        self.messages_under_way = 0
        self.jobs_end_for = 0
        self.log: list[str] = []
        self.controller = "head"
        self.keeps_jobs = True

    def keeps_jobs_of_rebooted_nodes(self) -> bool:
        return self.keeps_jobs

    def nodes(self) -> dict[str, SlurmNode]:
        return dict(self.states)

    def updates(self) -> str:
        return "\n".join(self.log)

    def nodes_and_updates(self) -> tuple[dict[str, SlurmNode], str]:
        return self.nodes(), self.updates()

    def jobs_on(self, name: str) -> list[str]:
        return ["7"]

    def nodes_of(self, job_id: str) -> list[str]:
        return [A, B] if job_id == "7" else []

    def set_node(self, name: str, state: str, reason: str = "") -> None:
        self.did.append(f"{name} {state}")
        self.states[name] = SlurmNode(name, frozenset({state.upper()}), reason)

    def requeue(self, job_id: str) -> None:
        self.requeued.append(job_id)

    def is_telling_nodes(self) -> bool:
        self.messages_under_way -= 1
        return self.messages_under_way >= 0

    def is_ending_jobs(self) -> bool:
        self.jobs_end_for -= 1
        return self.jobs_end_for >= 0

    def start_requeued_jobs(self) -> None:
        self.did.append("requeued jobs start")

    def isolate(self, name: str, _: object) -> None:
        self.did.append(f"{name} isolated")

    def release(self, name: str, _: object) -> None:
        self.did.append(f"{name} released")

    def run_on(self, name: str, script: str, _: object) -> str:
        return self.printed


IN_PLACE = ("ami-2026-01",)
"""Where steps that lost a node are resumed in their job, unless it has GPUs."""


class Run:
    """A cluster with a controller and two workers; repairs are written down and succeed at once."""

    def __init__(
        self,
        slurm_state: Slurm,
        *,
        instance_type: str = "ml.m5.large",
        profiles: Sequence[str] = (),
    ) -> None:
        self.profile = load(profiles).profile
        workers = group("cpu", 2, slurm=slurm("Compute", "cpu"), instance_type=instance_type)
        nodes = [node("head", "10.0.0.4"), node("cpu", "10.0.0.5"), node("cpu", "10.0.0.6")]
        for item in nodes:
            item.status = "Running"
            item.instance_type = instance_type
        self.told: list[Any] = []
        self.cluster: Cluster = cluster(group("head"), workers, nodes=nodes)
        self.cluster.tell = self.told.append
        self.controllers = nodes[:1]
        self.given_up = threading.Event()
        self.notes: list[str] = []
        self.journal = SimpleNamespace(note=lambda _, what: self.notes.append(what))
        self.at_work = NodesAtWork()
        self.off: set[str] = set()
        self.reboots = False
        self.machines = SimpleNamespace(
            is_off=lambda name: name in self.off,
            wants_reboot=lambda _: self.reboots,
            is_closed=False,
        )
        self.repairs: list[str] = []
        self.failures = 0
        self.status_after = "Running"
        self.registers = True
        self._slurm = slurm_state

    def is_wanted(self, _: ClusterNode) -> bool:
        return not self.machines.is_closed

    def replace(self, node: ClusterNode) -> None:
        with self.at_work.alone(node):
            self._repair("replace", node)
            node.instance_id += "'"

    def reboot(self, node: ClusterNode) -> None:
        self._repair("reboot", node)

    def _repair(self, how: str, node: ClusterNode) -> None:
        name = hostname(node)
        self.repairs.append(f"{how} {name}")
        if self.failures:
            self.failures -= 1
            node.status = "Failure"
            raise ClusterFailed("no capacity")
        self.off.discard(name)
        node.status = self.status_after
        if self.registers:
            self._slurm.states[name] = SlurmNode(name, frozenset({"IDLE"}), started="later")


@pytest.fixture
def slurm_state(monkeypatch: pytest.MonkeyPatch) -> Slurm:
    state = Slurm()
    monkeypatch.setattr(health_agent, "SlurmControl", lambda *_: state)
    monkeypatch.setattr(health_agent, "write_cluster_log", lambda *_: None)
    monkeypatch.setattr(recovery, "_REGISTRATION_SECONDS", 0.5)
    monkeypatch.setattr(recovery, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(health_agent, "POLL_SECONDS", 0.01)
    return state


def watch(run: Run, until: Callable[[], object] = lambda: True) -> HealthAgent:
    """Let an agent watch until something is so, and all that it began has ended."""
    agent = HealthAgent(run)  # type: ignore[arg-type]
    agent.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (is_so := until()) and time.monotonic() < deadline:
        time.sleep(0.01)
    run.given_up.set()
    agent.end()
    assert is_so, "waited in vain"
    return agent


def test_a_disk_that_is_full_for_a_moment_does_not_end_the_watch(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.off = {A}
    failures = [OSError(errno.ENOSPC, "No space left on device")] * 2
    note = run.journal.note

    def full_at_first(*words: Any) -> None:
        if failures:
            raise failures.pop()
        note(*words)

    run.journal.note = full_at_first
    watch(run, lambda: run.repairs)
    assert run.repairs == [f"replace {A}"]


def test_a_dead_node_is_replaced_and_its_jobs_start_elsewhere_or_again(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.off = {A}
    watch(run, lambda: "requeued jobs start" in slurm_state.did)
    assert run.repairs == [f"replace {A}"]
    assert slurm_state.did == [f"{A} down", "requeued jobs start"]
    (event,) = run.told
    assert event["detail"]["HealthSummary"]["RepairAction"] == "Replace"


def test_jobs_start_anew_when_nothing_meant_for_their_first_run_can_reach_them(
    slurm_state: Slurm,
) -> None:
    """The message that ends a dead node's job would end it on the node's successor, too."""
    run = Run(slurm_state)
    run.off.add(A)
    slurm_state.messages_under_way = 3
    watch(run, lambda: "requeued jobs start" in slurm_state.did)
    assert slurm_state.did == [f"{A} down", "requeued jobs start"]
    assert slurm_state.messages_under_way < 0


def test_jobs_that_may_still_be_ended_do_not_start(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.off.add(A)
    slurm_state.messages_under_way = 10_000
    watch(run, lambda: slurm_state.messages_under_way < 9_990)
    assert slurm_state.did == [f"{A} down"]


def test_jobs_that_other_nodes_end_slowly_start_when_these_are_done(slurm_state: Slurm) -> None:
    """A job is requeued when all of its nodes have ended it, maybe after a dead one is back."""
    run = Run(slurm_state)
    run.off.add(A)
    slurm_state.jobs_end_for = 3
    watch(run, lambda: slurm_state.jobs_end_for < 0)
    assert slurm_state.did == [f"{A} down", *["requeued jobs start"] * 4]


def test_the_job_of_a_step_that_waits_for_the_replacement_keeps_its_nodes(
    slurm_state: Slurm,
) -> None:
    run = Run(slurm_state, profiles=IN_PLACE)
    agent = HealthAgent(run)  # type: ignore[arg-type]
    lost: list[str] = []
    with agent.steps.step("7", A, lost.append):
        run.off = {B}
        assert agent.diagnose("7", since=0.0) is ResumeAction.RETRYSTEP
        assert agent.wait_until_back("7")
        run.given_up.set()
        agent.end()
    assert f"{B} down" not in slurm_state.did
    assert lost == [B]


def test_a_step_that_waits_for_a_dead_node_is_told(slurm_state: Slurm) -> None:
    """srun itself may wait for ever: nobody tells it how that node's tasks ended."""
    run = Run(slurm_state, profiles=IN_PLACE)
    agent = HealthAgent(run)  # type: ignore[arg-type]
    lost: list[str] = []

    def hang_up(_: str) -> None:
        raise BrokenPipeError

    with (
        agent.steps.step("7", A, lost.append),
        agent.steps.step("7", A, hang_up),
        agent.steps.step("8", A, lost.append),
    ):
        run.off = {B}
        agent.start()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not run.repairs and time.monotonic() < deadline:
            time.sleep(0.01)
        run.given_up.set()
        agent.end()
    assert lost == [B]
    assert run.repairs == [f"replace {B}"]


def test_a_step_dies_with_the_node_of_its_srun(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    agent = HealthAgent(run)  # type: ignore[arg-type]
    with agent.steps.step("7", A, lambda _: None):
        run.off = {A}
        agent.diagnose("7", since=0.0)
        run.given_up.set()
        agent.end()
    assert f"{A} down" in slurm_state.did


def test_jobs_on_nodes_with_gpus_are_requeued(slurm_state: Slurm) -> None:
    run = Run(slurm_state, instance_type="ml.g5.xlarge")
    agent = HealthAgent(run)  # type: ignore[arg-type]
    run.off = {B}
    assert agent.diagnose("7", since=0.0) is ResumeAction.REQUEUE
    assert slurm_state.requeued == ["7"]


@pytest.mark.parametrize(
    ("profile", "instance_type", "action"),
    [
        ("ami-2024-08", "ml.g5.xlarge", ResumeAction.RETRYSTEP),
        ("ami-2026-01", "ml.m5.large", ResumeAction.RETRYSTEP),
        ("ami-2026-07", "ml.m5.large", ResumeAction.REQUEUE),
    ],
)
def test_which_jobs_are_requeued_is_the_profiles(
    slurm_state: Slurm, profile: str, instance_type: str, action: ResumeAction
) -> None:
    run = Run(slurm_state, instance_type=instance_type, profiles=[profile])
    agent = HealthAgent(run)  # type: ignore[arg-type]
    run.off = {B}
    assert agent.diagnose("7", since=0.0) is action


def test_no_step_resumes_in_a_job_that_slurm_will_end(slurm_state: Slurm) -> None:
    slurm_state.keeps_jobs = False
    run = Run(slurm_state)
    agent = HealthAgent(run)  # type: ignore[arg-type]
    with agent.steps.step("7", A, lambda _: None):
        run.off = {B}
        assert agent.diagnose("7", since=0.0) is ResumeAction.REQUEUE
        run.given_up.set()
        agent.end()
    assert f"{B} down" in slurm_state.did


def test_without_a_fault_since_it_began_a_step_ends(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    agent = HealthAgent(run)  # type: ignore[arg-type]
    assert agent.diagnose("7", since=0.0) is ResumeAction.NONE
    run.off = {B}
    assert agent.diagnose("7", since=float("inf")) is ResumeAction.NONE


def test_without_automatic_recovery_faults_are_only_labelled(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.cluster.request = {"NodeRecovery": "None"}
    run.off = {A}
    agent = watch(run, lambda: run.told)
    assert agent.diagnose("7", since=0.0) is ResumeAction.NONE
    assert run.repairs == []
    assert [event["detail"]["HealthSummary"]["RepairAction"] for event in run.told] == ["None"]


@pytest.mark.parametrize(
    ("flags", "reason", "repairs"),
    [
        ("DOWN ALLOCATED", "Action:Replace", [f"replace {A}"]),
        ("IDLE FAIL", "Action:Replace", [f"replace {A}"]),
        ("IDLE FAIL", "Action:Reboot", [f"reboot {A}"]),
        ("ALLOCATED FAIL", "Action:Replace", []),
        ("COMPLETING FAIL", "Action:Replace", []),
        ("IDLE DRAIN", "Action:Replace", []),
        ("IDLE FAIL", "action:replace", []),
        ("IDLE FAIL", "Action:Replace.", []),
        ("IDLE FAIL", " Action:Replace", []),
        ("DOWN", "Action: Reboot", []),
        ("DOWN", "Not responding", [f"replace {A}"]),
        ("DOWN", "broken fan", []),
    ],
)
def test_requests_are_met_to_the_letter(
    slurm_state: Slurm, flags: str, reason: str, repairs: list[str]
) -> None:
    run = Run(slurm_state)
    slurm_state.states[A] = SlurmNode(A, frozenset(flags.split()), reason)
    slurm_state.states[B] = SlurmNode(B, frozenset({"DOWN"}), "Action:Replace")
    watch(run, lambda: "requeued jobs start" in slurm_state.did)
    assert sorted(run.repairs) == sorted([*repairs, f"replace {B}"])


def set_down(slurm_state: Slurm, name: str, reason: str) -> None:
    """Note it in the log, and no longer in the state: the node has answered."""
    said = f"update_node: node {name}"
    slurm_state.log += [f"[t] {said} reason set to: {reason}", f"[t] {said} state set to DOWN"]


def test_a_request_that_slurmctld_forgot_is_met_once(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    set_down(slurm_state, A, "Action:Replace")  # before the agent came: met by another one
    looks: list[None] = []

    def nodes() -> dict[str, SlurmNode]:
        looks.append(None)
        if len(looks) == 2:
            set_down(slurm_state, A, "broken fan")
            set_down(slurm_state, B, "Action:Reboot")
        return dict(slurm_state.states)

    slurm_state.nodes = nodes  # type: ignore[method-assign]
    watch(run, lambda: len(looks) > 20)
    assert run.repairs == [f"reboot {B}"]


def test_a_request_during_a_repair_is_met_after_it(slurm_state: Slurm) -> None:
    """What the first one asked for is cleared once, and nothing that came later."""
    run = Run(slurm_state)
    slurm_state.states[A] = SlurmNode(A, frozenset({"DOWN"}), "Action:Replace")
    later = ["Action:Reboot"]
    repair = run._repair

    def register_as_down(how: str, node: ClusterNode) -> None:
        repair(how, node)
        slurm_state.states[A] = SlurmNode(
            A, frozenset({"DOWN"}), "Action:Replace", started=str(len(run.repairs))
        )

    def set_node(name: str, state: str, reason: str = "") -> None:
        asked = later.pop() if later else ""
        flags = frozenset({"DOWN" if asked else "IDLE"})
        slurm_state.states[name] = SlurmNode(name, flags, asked, started="later")

    run._repair = register_as_down  # type: ignore[method-assign]
    slurm_state.set_node = set_node  # type: ignore[method-assign]
    watch(run, lambda: len(run.repairs) == 2)
    assert run.repairs == [f"replace {A}", f"reboot {A}"]


def test_requests_are_met_without_automatic_recovery(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.cluster.request = {"NodeRecovery": "None"}
    slurm_state.states[A] = SlurmNode(A, frozenset({"DOWN"}), "Action:Replace")
    watch(run, lambda: "requeued jobs start" in slurm_state.did)
    assert run.repairs == [f"replace {A}"]


def test_jobs_wait_until_the_new_node_has_registered(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.registers = False
    run.off = {A}
    watch(run, lambda: "did not register with slurmctld" in run.notes)
    assert slurm_state.did == [f"{A} down"]


def test_nobody_waits_for_a_node_when_the_machines_are_closed(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(slurm_state)
    run.registers, run.off = False, {A}

    def nodes() -> dict[str, SlurmNode]:
        run.machines.is_closed = bool(run.repairs)
        return {A: SlurmNode(A, frozenset({"DOWN"}))}

    monkeypatch.setattr(slurm_state, "nodes", nodes)
    monkeypatch.setattr(recovery, "_REGISTRATION_SECONDS", float("inf"))
    agent = HealthAgent(run)  # type: ignore[arg-type]
    agent.diagnose("7", since=0.0)
    agent.end()
    assert run.repairs == [f"replace {A}"]
    assert "did not register with slurmctld" not in run.notes


@pytest.mark.parametrize(
    ("status", "repairs"), [("Running", []), ("Failure", [f"replace {A}"])], ids=["well", "badly"]
)
def test_what_a_user_does_at_the_same_time_is_waited_for(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch, status: str, repairs: list[str]
) -> None:
    run = Run(slurm_state)
    run.off, worker = {A}, run.cluster.nodes[1]
    user, wait_for = run.at_work.alone(worker), run.at_work.wait_for

    def end(node: ClusterNode) -> None:
        node.status = status
        slurm_state.states[A] = SlurmNode(A, frozenset({"IDLE"}), started="later")
        user.__exit__(None, None, None)
        wait_for(node)

    monkeypatch.setattr(slurm_state, "set_node", lambda *_: user.__enter__())
    monkeypatch.setattr(run.at_work, "wait_for", end)
    agent = HealthAgent(run)  # type: ignore[arg-type]
    agent.diagnose("7", since=0.0)
    agent.end()
    assert run.repairs == repairs
    assert "is in service again" in run.notes
    assert run.notes[-1] == "is in service again"
    assert not any("failed" in note for note in run.notes)


def test_a_new_node_is_checked_before_jobs_start_if_its_group_wants_it(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(slurm_state)
    monkeypatch.setattr(recovery.DeepHealthCheck, "_log", lambda *_: False)
    run.off, run.status_after = {A}, DEEP_HEALTH_CHECK
    watch(run, lambda: "requeued jobs start" in slurm_state.did)
    isolated, released = f"{A} isolated", f"{A} released"
    assert list(dict.fromkeys(slurm_state.did)) == [
        f"{A} down",
        isolated,
        released,
        "requeued jobs start",
    ]


def test_a_node_that_reboots_by_itself_is_not_replaced(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.off, run.reboots = {A}, True
    watch(run, lambda: run.repairs)
    assert (run.repairs, run.told, slurm_state.did) == ([f"reboot {A}"], [], [])


def test_a_reboot_that_fails_becomes_a_replacement(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.failures = 1
    slurm_state.states[A] = SlurmNode(A, frozenset({"DOWN"}), "Action:Reboot")
    watch(run, lambda: "requeued jobs start" in slurm_state.did)
    assert run.repairs == [f"reboot {A}", f"replace {A}"]


def test_a_node_that_is_replaced_in_vain_stays_out_of_service(slurm_state: Slurm) -> None:
    run = Run(slurm_state)
    run.off, run.failures = {A}, 9
    watch(run, lambda: any("stays out of service" in note for note in run.notes))
    assert run.repairs == [f"replace {A}"] * 3
    assert run.cluster.nodes[1].status == "Failure"
    assert "requeued jobs start" not in slurm_state.did


def test_new_nodes_are_isolated_until_they_have_passed(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(slurm_state)
    monkeypatch.setattr(recovery.DeepHealthCheck, "_log", lambda *_: False)
    worker = run.cluster.nodes[1]
    worker.status = DEEP_HEALTH_CHECK
    watch(run, lambda: worker.status == "Running")
    assert slurm_state.did == [f"{A} isolated", f"{A} released"]


def test_a_check_that_cannot_begin_is_tried_again_and_noted_once(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(slurm_state)
    tries: list[str] = []

    def isolate(name: str, _: object) -> None:
        tries.append(name)
        raise ClusterFailed("no such node")

    monkeypatch.setattr(slurm_state, "isolate", isolate)
    run.cluster.nodes[1].status = DEEP_HEALTH_CHECK
    watch(run, lambda: len(tries) > 5)
    assert run.notes == ["not finished: no such node"]


def test_a_node_whose_jobs_leave_no_room_for_the_check_stays_and_is_checked_later(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(slurm_state)
    monkeypatch.setattr(recovery.DeepHealthCheck, "_log", lambda *_: False)
    refusals = [ClusterFailed("no room")] * 3

    def run_on(*_: object) -> str:
        if refusals:
            raise refusals.pop()
        return "0"

    monkeypatch.setattr(slurm_state, "run_on", run_on)
    worker = run.cluster.nodes[1]
    worker.status = DEEP_HEALTH_CHECK
    watch(run, lambda: worker.status == "Running")
    assert (run.repairs, run.notes) == ([], ["not finished: no room"])


def test_an_instance_that_slurm_takes_for_a_reboot_is_checked_all_the_same(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(slurm_state)
    monkeypatch.setattr(recovery.DeepHealthCheck, "_log", lambda *_: False)
    slurm_state.states[A] = SlurmNode(A, frozenset({"DOWN"}), "Node unexpectedly rebooted")
    worker = run.cluster.nodes[1]
    worker.status = DEEP_HEALTH_CHECK
    watch(run, lambda: worker.status == "Running")
    assert slurm_state.did == [f"{A} isolated", f"{A} resume", f"{A} released"]


def test_a_place_where_no_instance_passes_stays_out_of_service(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(slurm_state)
    monkeypatch.setattr(recovery.DeepHealthCheck, "_log", lambda *_: False)
    slurm_state.printed = "1"
    worker = run.cluster.nodes[1]
    worker.status = DEEP_HEALTH_CHECK
    watch(run, lambda: worker.status == "Failure")
    assert run.repairs == [f"replace {A}"] * 3
    assert f"{A} released" not in slurm_state.did


def test_a_check_that_could_not_be_made_forgets_no_instance_that_failed(
    slurm_state: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(slurm_state)
    monkeypatch.setattr(recovery.DeepHealthCheck, "_log", lambda *_: False)
    answers = ["1", "1", None, "1"]

    def run_on(*_: object) -> str:
        answer = answers.pop(0)
        if answer is None:
            raise ClusterFailed("no room")
        return answer

    monkeypatch.setattr(slurm_state, "run_on", run_on)
    run.status_after = DEEP_HEALTH_CHECK
    worker = run.cluster.nodes[1]
    worker.status = DEEP_HEALTH_CHECK
    watch(run, lambda: worker.status == "Failure")
    assert run.repairs == [f"replace {A}"] * 3
