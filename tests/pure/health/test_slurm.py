"""What a node may say about itself, and what it must leave alone."""

from __future__ import annotations

import pytest

import slurmpod_health.__main__ as program
from slurmpod_health import scontrol as command_of_slurm
from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed
from tests.pure.health.fakes import BAD, Cluster, drain, four_nodes, run

SHOWN = "NodeName=n1 State={state} ThreadsPerCore=1{reason}"
GOOD = Finding("accelerators", Verdict.GOOD, "8 accelerators")
SHARED = Finding("shared /fsx", Verdict.REPORTED, "/fsx: no answer within 2 s")


class Asked:
    """Notes what it is asked, and shows a node in one state."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.state, self.reason = "IDLE+CLOUD", ""

    def __call__(self, *command: str, seconds: float) -> str:
        assert seconds
        _, *words = command
        if words[1] == "show":
            reason = f" Reason={self.reason} [root@2026-01-01T00:00:00]" if self.reason else ""
            return SHOWN.format(state=self.state, reason=reason) + "\n"
        self.asked.append(" ".join(words))
        return ""


@pytest.fixture
def scontrol(monkeypatch: pytest.MonkeyPatch) -> Asked:
    scontrol = Asked()
    monkeypatch.setattr(command_of_slurm, "probe", scontrol)
    monkeypatch.setattr("syslog.syslog", lambda *_: None)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    node = Expectations("n1", "gpu", 8, 0, None, (), 0)
    monkeypatch.setattr(Expectations, "load", classmethod(lambda _: node))
    return scontrol


DRAIN = "update nodename=n1 state=drain reason=slurmpod: 7 of 8 accelerators"


class TestBadNode:
    def test_a_job_that_starts_waits_for_another_node(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Asked
    ) -> None:
        assert run(monkeypatch, BAD, "--prolog") == program.UNHEALTHY
        assert scontrol.asked == [DRAIN, "requeue 7"]

    def test_a_job_that_ended_has_ended(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Asked
    ) -> None:
        assert run(monkeypatch, BAD, "--epilog") == program.UNHEALTHY
        assert scontrol.asked == [DRAIN]

    @pytest.mark.parametrize(
        ("state", "why"),
        [
            ("MIXED+CLOUD+FAIL", "Action:Replace"),
            ("IDLE+CLOUD+DRAIN", "by hand"),
            ("IDLE+CLOUD+DRAIN", "slurmpod: check: scratch write MiB/s is 4"),
        ],
    )
    def test_what_others_have_decided_stays(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Asked, state: str, why: str
    ) -> None:
        scontrol.state, scontrol.reason = state, why
        run(monkeypatch, BAD, "--epilog")
        assert scontrol.asked == []

    def test_a_job_that_cannot_be_repeated_does_not_start_either(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Asked
    ) -> None:
        def refuse(*command: str, seconds: float) -> str:
            if "requeue" in command:
                raise ProbeFailed("Requested operation is presently disabled for job 7")
            return scontrol(*command, seconds=seconds)

        monkeypatch.setattr(command_of_slurm, "probe", refuse)
        assert run(monkeypatch, BAD, "--prolog") == program.UNHEALTHY

    def test_looking_drains_nobody(self, monkeypatch: pytest.MonkeyPatch, scontrol: Asked) -> None:
        assert run(monkeypatch, BAD) == program.UNHEALTHY
        assert scontrol.asked == []


four = pytest.fixture(four_nodes)


class TestFaultOfAllNodes:
    """A wrong catalog, say: every node of a type finds the same."""

    def test_drains_no_more_than_half_of_a_partition(self, four: Cluster) -> None:
        assert [drain(node, "7 of 8") for node in ("n1", "n2", "n3", "n4")] == [
            True,
            True,
            False,
            False,
        ]
        assert four.drained() == ["n1", "n2"]

    def test_drains_no_more_when_all_nodes_find_it_at_once(
        self, four: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between its own drain and its look at the others, a node may be as slow as it likes."""
        queue = ["n1", "n2", "n3", "n4"]

        def slow(*command: str, seconds: float) -> str:
            if "show" in command and len(command) == 4 and queue:
                drain(queue.pop(), "7 of 8")
            return four(*command, seconds=seconds)

        monkeypatch.setattr(command_of_slurm, "probe", slow)
        drain(queue.pop(), "7 of 8")
        assert not queue
        assert len(four.drained()) <= 2

    def test_lets_jobs_start_on_the_others(
        self, four: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        four.reasons.update(n2="slurmpod: 7 of 8", n3="slurmpod: 7 of 8")
        node = Expectations("n1", "gpu", 8, 0, None, (), 0)
        monkeypatch.setattr(Expectations, "load", classmethod(lambda _: node))
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        assert run(monkeypatch, BAD, "--prolog") == 0
        assert run(monkeypatch, BAD) == program.UNHEALTHY

    def test_is_not_told_from_one_of_this_node_by_who_sees_no_others(self, four: Cluster) -> None:
        four.unanswered = {"all"}
        with pytest.raises(ProbeFailed):
            drain("n1", "7 of 8")
        assert four.drained() == []

    def test_is_not_what_others_have_drained_nodes_for(self, four: Cluster) -> None:
        four.reasons.update(n3="by hand", n4="by hand")
        assert drain("n1", "7 of 8")
        assert not drain("n2", "7 of 8"), "none would be left"

    def test_counts_what_checks_of_idle_nodes_have_drained(self, four: Cluster) -> None:
        assert drain("n1", "check: scratch write MiB/s is 4")
        assert drain("n2", "7 of 8")
        assert not drain("n3", "check: scratch write MiB/s is 5")
        assert not drain("n4", "7 of 8")
        assert four.drained() == ["n1", "n2"]

    def test_is_no_question_where_a_partition_has_one_node(self, four: Cluster) -> None:
        four.partitions["c1"] = "dev,cpu"
        assert drain("c1", "the clock is off by 11 s")

    def test_does_not_bring_back_who_was_drained_before_and_sees_no_others(
        self, four: Cluster
    ) -> None:
        four.reasons.update(n1="slurmpod: 7 of 8")
        four.unanswered = {"all"}
        with pytest.raises(ProbeFailed):
            drain("n1", "7 of 8")
        assert four.drained() == ["n1"]

    def test_is_not_weighed_by_who_was_told_nothing(self, four: Cluster) -> None:
        four.silent = True
        with pytest.raises(ProbeFailed, match="scontrol shows no state"):
            drain("n1", "7 of 8")
        assert four.drained() == []


class TestOtherNodes:
    def test_what_may_be_everybodys_starts_jobs(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Asked
    ) -> None:
        assert run(monkeypatch, SHARED, "--prolog") == 0
        assert scontrol.asked == []

    @pytest.mark.parametrize(
        ("finding", "state", "why", "resumed"),
        [
            (GOOD, "IDLE+CLOUD+DRAIN", "slurmpod: 7 of 8 accelerators", True),
            (BAD, "IDLE+CLOUD+DRAIN", "slurmpod: 7 of 8 accelerators", False),
            (GOOD, "IDLE+CLOUD+DRAIN", "by hand, not slurmpod: x", False),
            (GOOD, "IDLE+CLOUD+DRAIN", "slurmpod: check: scratch write MiB/s is 4", False),
            (GOOD, "IDLE+CLOUD", "", False),
        ],
    )
    def test_only_its_own_drain_is_undone_and_only_on_a_good_node(
        self,
        monkeypatch: pytest.MonkeyPatch,
        scontrol: Asked,
        finding: Finding,
        state: str,
        why: str,
        *,
        resumed: bool,
    ) -> None:
        scontrol.state, scontrol.reason = state, why
        run(monkeypatch, finding, "--resume")
        assert scontrol.asked == (["update nodename=n1 state=resume"] if resumed else [])
