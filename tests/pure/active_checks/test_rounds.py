"""Rounds over a Slurm that exists only here: who is checked, who is at fault, who makes way."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from slurmpod_checks import act, records
from slurmpod_checks.collectives import ALL_REDUCE, RING_ALL_REDUCE
from slurmpod_checks.harvest import Instance
from slurmpod_checks.judge import slow_in_pairs
from slurmpod_checks.latency import EFA_LATENCY
from slurmpod_checks.pair import PAIR
from slurmpod_checks.records import (
    IN_RING,
    MOST_RESULTS,
    CheckJob,
    NodeRecord,
    Result,
    State,
)
from slurmpod_checks.rounds import run_round
from slurmpod_checks.settings import ChecksSettings
from slurmpod_checks.slurm import Job, Slurm, SlurmFailed, read_job
from slurmpod_checks.summary import summary
from slurmpod_health.finding import Finding
from slurmpod_health.node_state import NodeState
from slurmpod_health.probe import ProbeTimedOut

HOUR = 3600
SETTINGS = ChecksSettings(
    every_hours=24,
    kinds=("scratch", "pairs"),
    groups={"gpu": "gpu"},
    pair_groups=("gpu",),
    all_reduce_bounds={"gpu": 100.0},
    ring_bounds={"gpu": 50.0},
    least_share=0.5,
    dcgm_level=2,
    replace_after=None,
    scratch="/scratch",
    shared_folders=(),
    resource_config="",
)
ALONE = replace(SETTINGS, kinds=("scratch",))


class FakeSlurm(Slurm):
    """Nodes n1, n2...; a check ends at once with the numbers that `speeds` has of its nodes."""

    def __init__(self, count: int, **speeds: float) -> None:
        self.speeds = {f"n{number}": 1000.0 for number in range(1, count + 1)} | speeds
        self.words = {name: frozenset({"IDLE"}) for name in self.speeds}
        self.reasons = dict.fromkeys(self.speeds, "")
        self.ids = {name: Instance("gpu", f"i-{name}") for name in self.speeds}
        self.queue: dict[str, Job] = {}
        self.submitted: list[tuple[str, ...]] = []
        self.updated: list[tuple[str, ...]] = []
        self.findings: Mapping[str, Sequence[Sequence[str]]] = {}
        self.refusal = ""
        self.ends = True
        self.gpu_speeds: dict[str, float] = {}
        self.latencies: dict[str, float] = {}
        self.orders: list[dict[str, Any]] = []

    def nodes(self) -> list[NodeState]:
        return [
            NodeState(name, "", words, self.reasons[name], "", "", "", frozenset({"gpu", "all"}))
            for name, words in self.words.items()
        ]

    def jobs(self) -> list[Job]:
        return list(self.queue.values())

    def submit(self, nodes: Sequence[str], partition: str, minutes: int, order: str) -> str:
        assert minutes
        if self.refusal:
            raise SlurmFailed(self.refusal)
        number = str(len(self.submitted) + 1)
        self.submitted.append(tuple(nodes))
        self.orders.append(json.loads(order))
        kinds = self.orders[-1]["kinds"]
        names = {"pairs": PAIR, "rings": RING_ALL_REDUCE}
        what = names.get(kinds[0], "scratch write MiB/s")
        result: dict[str, Any] = {
            "type": "p5",
            "findings": self.findings.get(nodes[0] if len(nodes) == 1 else kinds[0], ()),
            "numbers": {what: min(self.speeds[name] for name in nodes)},
        }
        if self.gpu_speeds and what == PAIR:
            result["numbers"][ALL_REDUCE] = min(self.gpu_speeds.get(name, 80.0) for name in nodes)
        if self.latencies and what == PAIR:
            result["numbers"][EFA_LATENCY] = max(self.latencies.get(name, 15.0) for name in nodes)
        job = Job(number, "root", "slurmpod-check", "RUNNING", "", frozenset({partition}), "")
        ended = replace(job, state="COMPLETED", comment=comment(result))
        self.queue[number] = ended if self.ends else job
        return number

    def cancel(self, *jobs: str) -> None:
        for number in jobs:
            self.queue[number] = replace(self.queue[number], state="CANCELLED")

    def update(self, node: str, *changes: str) -> None:
        self.updated.append((node, *changes))


def slow_with_both(before: str, last: str, *, instance: str = "i") -> list[Finding]:
    """Return what is found of a node that was slow with two partners, of which each is good."""

    def result(partner: str, slow: str = "", instance: str = "i") -> Result:
        numbers = {PAIR: 1000.0, ALL_REDUCE: 80.0, **({slow: 1.0} if slow else {})}
        return Result(1, instance, "p5", partner, (), numbers, is_told=False)

    one = NodeRecord("gpu", (result("n2", before, instance), result("n3", last)))
    others = {name: NodeRecord("gpu", (result("n4"),)) for name in ("n2", "n3", "n4")}
    return list(slow_in_pairs("n1", {"n1": one, **others}, 0.5))


def comment(result: dict[str, Any]) -> str:
    return base64.b64encode(zlib.compress(json.dumps(result).encode())).decode()


@pytest.fixture
def drained(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What was drained, and why; at once, as scontrol is another program."""
    found: dict[str, str] = {}

    def drain(_: object, node: str, why: str) -> bool:
        found[node] = why
        return True

    monkeypatch.setattr(act, "drain", drain)
    return found


def rounds(
    slurm: FakeSlurm,
    drained: Mapping[str, str],
    state: State | None = None,
    settings: ChecksSettings = SETTINGS,
    *,
    count: int = 6,
    now: int = 1_000_000,
) -> State:
    state = state or State()
    for number in range(count):
        state = run_round(slurm, settings, state, slurm.ids, now + 20 * number)
        for name in drained:
            slurm.words[name] = frozenset({"IDLE", "DRAIN"})
            slurm.reasons[name] = f"slurmpod: {drained[name]}"
    return state


class TestDue:
    def test_every_idle_node_is_checked_once_in_a_while(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(3)
        state = rounds(slurm, drained, settings=ALONE)
        assert slurm.submitted == [("n1",), ("n2",), ("n3",)]
        rounds(slurm, drained, state, ALONE, now=1_000_000 + 23 * HOUR)
        assert len(slurm.submitted) == 3
        rounds(slurm, drained, state, ALONE, now=1_000_000 + 25 * HOUR)
        assert len(slurm.submitted) == 6
        assert not drained

    @pytest.mark.parametrize("word", ["ALLOCATED", "DRAIN", "RESERVED", "PLANNED", "POWERED_DOWN"])
    def test_who_is_not_idle_is_left_alone(self, drained: dict[str, str], word: str) -> None:
        slurm = FakeSlurm(1)
        slurm.words["n1"] = frozenset({"IDLE", word})
        rounds(slurm, drained)
        assert not slurm.submitted

    def test_who_is_of_another_group_is_left_alone(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(2)
        slurm.ids["n1"] = Instance("head", "i-1")
        del slurm.ids["n2"]
        rounds(slurm, drained)
        assert not slurm.submitted

    def test_no_more_than_some_nodes_at_once(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(30)
        slurm.ends = False
        rounds(slurm, drained)
        assert len(slurm.submitted) == 8

    def test_another_instance_behind_the_name_is_checked_at_once(
        self, drained: dict[str, str]
    ) -> None:
        slurm = FakeSlurm(1)
        state = rounds(slurm, drained, settings=ALONE)
        slurm.ids["n1"] = Instance("gpu", "i-new")
        rounds(slurm, drained, state, ALONE, now=1_001_000)
        assert slurm.submitted == [("n1",), ("n1",)]

    def test_a_group_whose_network_has_only_a_peak_has_no_pairs(
        self, drained: dict[str, str]
    ) -> None:
        slurm = FakeSlurm(4)
        rounds(slurm, drained, settings=replace(SETTINGS, pair_groups=()))
        assert all(len(nodes) == 1 for nodes in slurm.submitted)

    def test_results_are_forgotten_in_time(self, drained: dict[str, str]) -> None:
        slurm, state = FakeSlurm(1), State()
        for day in range(MOST_RESULTS + 5):
            state = rounds(slurm, drained, state, ALONE, count=2, now=day * 25 * HOUR + HOUR)
        assert len(state.nodes["n1"].results) == MOST_RESULTS
        slurm.words.clear()
        assert not rounds(slurm, drained, state, ALONE).nodes


class TestUsers:
    def waiting(self, reason: str, partition: str = "gpu") -> Job:
        return Job("900", "alice", "train", "PENDING", reason, frozenset({partition}), "")

    @pytest.mark.parametrize("reason", ["Resources", "Priority"])
    def test_no_check_begins_while_somebody_waits(
        self, drained: dict[str, str], reason: str
    ) -> None:
        slurm = FakeSlurm(2)
        slurm.queue["900"] = self.waiting(reason)
        rounds(slurm, drained)
        assert not slurm.submitted

    def test_who_waits_for_something_else_changes_nothing(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(2)
        slurm.queue["900"] = self.waiting("Dependency")
        slurm.queue["901"] = self.waiting("Resources", "other")
        rounds(slurm, drained, settings=ALONE)
        assert slurm.submitted == [("n1",), ("n2",)]

    def test_a_check_ends_for_somebody_who_waits_and_comes_back_later(
        self, drained: dict[str, str]
    ) -> None:
        slurm = FakeSlurm(1)
        slurm.ends = False
        state = rounds(slurm, drained, settings=ALONE, count=1)
        slurm.queue["900"] = self.waiting("Resources")
        state = rounds(slurm, drained, state, ALONE, count=2, now=1_000_020)
        assert slurm.queue["1"].state == "CANCELLED"
        del slurm.queue["900"]
        rounds(slurm, drained, state, ALONE, count=1, now=1_000_060)
        assert len(slurm.submitted) == 1
        rounds(slurm, drained, state, ALONE, count=1, now=1_001_000)
        assert len(slurm.submitted) == 2

    def test_checks_that_do_not_begin_and_those_of_nobody_end(
        self, drained: dict[str, str]
    ) -> None:
        slurm = FakeSlurm(2)
        check = Job("7", "root", "slurmpod-check", "RUNNING", "", frozenset({"gpu"}), "")
        of_a_user = replace(check, id="8", user="alice")
        waits = replace(check, id="9", state="PENDING", reason="Resources")
        slurm.queue = {each.id: each for each in (check, of_a_user, waits)}
        state = State(jobs={"9": CheckJob(("n1",), 0)})
        rounds(slurm, drained, state, ALONE, count=1)
        states = {number: job.state for number, job in slurm.queue.items()}
        assert (states["7"], states["8"], states["9"]) == ("CANCELLED", "RUNNING", "CANCELLED")

    def test_a_refusal_is_told_and_ends_with_the_next_success(
        self, drained: dict[str, str]
    ) -> None:
        slurm = FakeSlurm(2)
        slurm.refusal = "Invalid account"
        state = rounds(slurm, drained)
        assert summary(state)["trouble"] == "Invalid account"
        slurm.refusal = ""
        assert not rounds(slurm, drained, state).trouble


class TestFaults:
    def test_a_finding_of_the_node_drains_it(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(3)
        slurm.findings = {"n2": [("scratch", "bad", "read-only"), ("x", "reported", "odd")]}
        state = rounds(slurm, drained, settings=ALONE)
        assert drained == {"n2": "check: read-only"}
        assert summary(state)["bad"] == ["n2"]

    def test_who_is_drained_meets_nobody_in_the_same_round(self, drained: dict[str, str]) -> None:
        """Slurm would never begin that pair, and the other node would wait for a new one."""
        slurm = FakeSlurm(3)
        slurm.findings = {"n2": [("scratch", "bad", "read-only")]}
        rounds(slurm, drained)
        pairs = {nodes for nodes in slurm.submitted if len(nodes) == 2}
        assert pairs == {("n1", "n3")}

    def test_who_is_far_slower_than_two_others_is_drained(self, drained: dict[str, str]) -> None:
        rounds(FakeSlurm(3, n1=400.0), drained, settings=ALONE)
        assert drained == {"n1": "check: scratch write MiB/s is 400, that of others 1000"}

    def test_who_has_one_other_is_not_compared(self, drained: dict[str, str]) -> None:
        rounds(FakeSlurm(2, n1=1.0), drained, settings=ALONE)
        assert not drained

    def test_a_fault_is_acted_upon_once(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(3, n1=400.0)
        state = rounds(slurm, drained, settings=ALONE)
        drained.clear()
        slurm.words["n1"] = frozenset({"IDLE"})  # somebody has resumed it
        rounds(slurm, drained, state, ALONE, now=1_000_500)
        assert not drained

    def test_where_slurm_does_not_answer_the_next_round_tries_again(
        self, monkeypatch: pytest.MonkeyPatch, drained: dict[str, str]
    ) -> None:
        tries = []

        def drain(*_: object) -> bool:
            tries.append(1)
            if len(tries) < 3:
                raise ProbeTimedOut("no answer")
            return True

        monkeypatch.setattr(act, "drain", drain)
        rounds(FakeSlurm(3, n1=400.0), drained, settings=ALONE)
        assert len(tries) == 3

    def test_one_too_many_goes_on_and_that_is_told(
        self, monkeypatch: pytest.MonkeyPatch, drained: dict[str, str]
    ) -> None:
        monkeypatch.setattr(act, "drain", lambda *_: False)
        state = rounds(FakeSlurm(3, n1=400.0), drained, settings=ALONE)
        details = [each.detail for each in state.nodes["n1"].results[-1].findings]
        assert details[-1] == "it goes on, as half of its partition has drained itself"

    @pytest.mark.parametrize("left", ["", "!", "bm8="])
    def test_a_check_that_says_nothing_is_no_fault(
        self, drained: dict[str, str], left: str
    ) -> None:
        slurm = FakeSlurm(1)
        state = rounds(slurm, drained, settings=ALONE, count=1)
        slurm.queue["1"] = replace(slurm.queue["1"], state="TIMEOUT", comment=left)
        state = rounds(slurm, drained, state, ALONE)
        assert not drained
        (finding,) = state.nodes["n1"].results[-1].findings
        assert finding.detail == "the check ended as TIMEOUT without a result"


class TestPairs:
    @pytest.mark.parametrize("count", [3, 4, 5, 6, 9])
    @pytest.mark.parametrize("bad", ["n1", "n2", "n3"])
    def test_the_bad_one_of_a_pair_is_known_and_its_partners_stay(
        self, drained: dict[str, str], count: int, bad: str
    ) -> None:
        slurm = FakeSlurm(count, **{bad: 100.0})
        rounds(slurm, drained, settings=replace(SETTINGS, kinds=("pairs",)), count=12)
        assert list(drained) == [bad]
        assert drained[bad].startswith("check: exchange with ")

    @pytest.mark.parametrize("count", [3, 4, 6])
    @pytest.mark.parametrize("bad", ["n1", "n2", "n3"])
    def test_who_is_slow_between_gpus_only_is_known_as_well(
        self, drained: dict[str, str], count: int, bad: str
    ) -> None:
        slurm = FakeSlurm(count)
        slurm.gpu_speeds = {bad: 8.0}
        rounds(slurm, drained, settings=replace(SETTINGS, kinds=("pairs",)), count=12)
        assert list(drained) == [bad]
        assert drained[bad].startswith("check: all-reduce with ")
        assert drained[bad].endswith(" is 8 GB/s, that of others 80")

    def test_what_is_slow_with_one_partner_each_time_in_another_way_is_no_fault(self) -> None:
        assert not slow_with_both(PAIR, ALL_REDUCE)
        assert len(slow_with_both(PAIR, PAIR)) == 1

    def test_an_instance_has_no_part_in_what_another_one_of_its_name_did(self) -> None:
        assert not slow_with_both(PAIR, PAIR, instance="i-before")

    def test_pairs_are_told_what_their_group_can_reach(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(2)
        rounds(slurm, drained, settings=replace(SETTINGS, kinds=("pairs",)))
        (order,) = slurm.orders
        assert (order["all_reduce_bound"], order["least_share"]) == (100.0, 0.5)

    def test_two_bad_ones_are_known(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(8, n1=100.0, n5=90.0)
        rounds(slurm, drained, settings=replace(SETTINGS, kinds=("pairs",)), count=20)
        assert sorted(drained) == ["n1", "n5"]

    def test_healthy_pairs_meet_once(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(4)
        rounds(slurm, drained, settings=replace(SETTINGS, kinds=("pairs",)), count=12)
        assert slurm.submitted == [("n1", "n2"), ("n3", "n4")]

    def test_two_nodes_alone_are_never_judged(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(2, n1=1.0)
        rounds(slurm, drained, count=12)
        assert not drained


class TestRings:
    RINGS = replace(SETTINGS, kinds=("rings",))
    BOTH = replace(SETTINGS, kinds=("pairs", "rings"))

    def test_all_idle_nodes_of_a_group_are_one_ring_once_in_a_while(
        self, drained: dict[str, str]
    ) -> None:
        slurm = FakeSlurm(12)
        slurm.words["n3"] = frozenset({"ALLOCATED"})
        state = rounds(slurm, drained, settings=self.RINGS)
        assert len(slurm.submitted) == 1
        assert set(slurm.submitted[0]) == slurm.words.keys() - {"n3"}
        result = state.nodes["n1"].latest(IN_RING)
        assert result is not None
        assert (result.partner, result.numbers) == ("ring of 11", {RING_ALL_REDUCE: 1000.0})
        assert slurm.orders[0]["ring_bound"] == 50.0
        rounds(slurm, drained, state, self.RINGS, now=1_000_000 + 25 * HOUR)
        assert len(slurm.submitted) == 2

    def test_two_nodes_are_no_ring(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(2)
        rounds(slurm, drained, settings=self.RINGS)
        assert not slurm.submitted

    def test_without_gpus_and_efa_there_is_none(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(4)
        rounds(slurm, drained, settings=replace(self.RINGS, ring_bounds={}))
        assert not slurm.submitted

    def test_a_ring_waits_for_other_checks_of_its_group(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(5)
        slurm.ends = False
        state = rounds(slurm, drained, settings=self.BOTH, count=2)
        assert slurm.submitted == [("n1", "n2"), ("n3", "n4")]
        slurm.ends = True
        slurm.cancel("1", "2")
        state = rounds(slurm, drained, state, self.BOTH, count=1, now=1_000_060)
        rounds(slurm, drained, state, self.BOTH, now=1_001_000)
        assert [len(nodes) for nodes in slurm.submitted[2:]] == [2, 2, 2, 5]

    def test_a_ring_ends_for_somebody_who_waits(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(3)
        slurm.ends = False
        state = rounds(slurm, drained, settings=self.RINGS, count=1)
        waiting = Job("900", "alice", "train", "PENDING", "Resources", frozenset({"gpu"}), "")
        slurm.queue["900"] = waiting
        rounds(slurm, drained, state, self.RINGS, count=1, now=1_000_020)
        assert slurm.queue["1"].state == "CANCELLED"

    def test_a_slow_ring_drains_nobody_and_its_nodes_meet_in_pairs(
        self, drained: dict[str, str]
    ) -> None:
        slurm = FakeSlurm(4)
        settings = replace(self.BOTH, every_hours=24)
        state = rounds(slurm, drained, settings=settings)
        state = rounds(slurm, drained, state, settings, now=1_000_000 + 25 * HOUR)
        assert [len(nodes) for nodes in slurm.submitted] == [2, 2, 4, 2, 2, 4]
        wanted = replace(settings, kinds=("rings",))
        slurm.speeds["n1"] = 100.0
        state = rounds(slurm, drained, state, wanted, count=2, now=1_000_000 + 50 * HOUR)
        assert not drained
        result = state.nodes["n4"].latest(IN_RING)
        assert result is not None
        assert [each.detail for each in result.findings] == [
            "all-reduce of the ring is 100 GB/s, that of earlier ones 1000"
        ]
        before = len(slurm.submitted)
        paired = replace(settings, every_hours=720)  # nothing else makes them due
        rounds(slurm, drained, state, paired, count=12, now=1_000_100 + 50 * HOUR)
        assert list(drained) == ["n1"]
        assert all(len(nodes) == 2 for nodes in slurm.submitted[before:])

    def test_good_pairs_after_an_odd_ring_are_enough(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(4)
        slurm.findings = {"rings": [("rings", "reported", "all_reduce_perf: no answer")]}
        rounds(slurm, drained, settings=self.BOTH, count=12)
        assert [len(nodes) for nodes in slurm.submitted] == [2, 2, 4, 2, 2]


def test_a_long_latency_is_told_once_and_drains_nobody(drained: dict[str, str]) -> None:
    slurm = FakeSlurm(6)
    slurm.latencies = {"n1": 90.0}
    state = rounds(slurm, drained, settings=replace(SETTINGS, kinds=("pairs",)), count=12)
    told = [each.detail for each in state.nodes["n1"].results[-1].findings]
    assert told == ["a message over EFA takes 90 us, that of others 15"]
    assert not state.nodes["n3"].results[-1].findings
    assert not drained


class TestReplacement:
    def drained_node(self, slurm: FakeSlurm, drained: dict[str, str]) -> State:
        return rounds(slurm, drained, settings=ALONE)

    def test_is_never_asked_for_unless_somebody_wants_it(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(3, n1=400.0)
        self.drained_node(slurm, drained)
        assert not slurm.updated

    def test_is_asked_for_after_so_many_faults_and_once_a_day(
        self, drained: dict[str, str]
    ) -> None:
        slurm = FakeSlurm(6, n1=400.0, n2=300.0)
        settings = replace(ALONE, replace_after=1)
        state = rounds(slurm, drained, settings=settings)
        assert slurm.updated == [("n1", "state=fail", "reason=Action:Replace")]
        slurm.words["n1"] = frozenset({"IDLE", "FAIL"})
        drained.pop("n1")
        rounds(slurm, drained, state, settings, count=1, now=1_000_000 + 25 * HOUR)
        assert slurm.updated[1:] == [("n2", "state=fail", "reason=Action:Replace")]

    def test_faults_of_an_instance_are_counted(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(3, n1=400.0)
        rounds(slurm, drained, settings=replace(ALONE, replace_after=2))
        assert drained
        assert not slurm.updated

    def test_a_new_instance_takes_jobs_again(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(3, n1=400.0)
        state = self.drained_node(slurm, drained)
        slurm.ids["n1"] = Instance("gpu", "i-new")
        rounds(slurm, drained, state, ALONE, count=1, now=1_000_500)
        assert slurm.updated == [("n1", "state=resume")]

    def test_what_others_have_drained_stays(self, drained: dict[str, str]) -> None:
        slurm = FakeSlurm(3, n1=400.0)
        state = self.drained_node(slurm, drained)
        slurm.ids["n1"] = Instance("gpu", "i-new")
        drained["n1"] = "scratch is not mounted"
        slurm.reasons["n1"] = "slurmpod: scratch is not mounted"
        rounds(slurm, drained, state, ALONE, count=1, now=1_000_500)
        assert not slurm.updated


def test_repeat_offenders_are_named(drained: dict[str, str]) -> None:
    slurm = FakeSlurm(3, n1=400.0)
    state = rounds(slurm, drained, settings=ALONE)
    assert summary(state)["offenders"] == {}
    drained.clear()
    slurm.words["n1"] = frozenset({"IDLE"})
    state = rounds(slurm, drained, state, ALONE, now=1_000_000 + 25 * HOUR)
    assert summary(state)["offenders"] == {"n1": 2}
    assert summary(state)["checked"] == 3


def test_a_jobs_name_may_hold_what_stands_between_columns() -> None:
    job = read_job("7|root|PENDING|gpu,all|Resources|(null)|a|b")
    assert (job.name, job.partitions) == ("a|b", frozenset({"gpu", "all"}))
    assert job.result() is None


def test_wanted_nodes_are_checked_though_they_are_not_due(drained: dict[str, str]) -> None:
    slurm = FakeSlurm(1)
    state = rounds(slurm, drained, settings=ALONE)
    wanted = {"n1": replace(state.nodes["n1"], wanted_at=1_000_900)}
    rounds(slurm, drained, replace(state, nodes=wanted), ALONE, now=1_001_000)
    assert len(slurm.submitted) == 2
    assert NodeRecord("").latest(records.ALONE) is None


def test_who_asks_for_a_check_while_one_is_lost_need_not_wait(drained: dict[str, str]) -> None:
    """The round that reads the lost one comes later than the wish."""
    slurm = FakeSlurm(1)
    slurm.ends = False
    state = rounds(slurm, drained, settings=ALONE, count=1)
    slurm.cancel("1")
    wanted = {"n1": NodeRecord("gpu", wanted_at=1_000_010)}
    state = rounds(slurm, drained, replace(state, nodes=wanted), ALONE, count=1, now=1_000_020)
    assert len(slurm.submitted) == 2
    slurm.cancel("2")
    rounds(slurm, drained, state, ALONE, now=1_000_040)
    assert len(slurm.submitted) == 2
