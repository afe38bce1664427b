"""What a node may say about itself, and what it must leave alone."""

from __future__ import annotations

import pytest
import slurmpod_health.__main__ as program
from slurmpod_health import slurm
from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed

SHOWN = "NodeName=n1 State={state} ThreadsPerCore=1{reason}"
BAD = Finding("accelerators", Verdict.BAD, "7 of 8 accelerators")
GOOD = Finding("accelerators", Verdict.GOOD, "8 accelerators")
SHARED = Finding("shared /fsx", Verdict.REPORTED, "/fsx: no answer within 2 s")


class Scontrol:
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
def scontrol(monkeypatch: pytest.MonkeyPatch) -> Scontrol:
    scontrol = Scontrol()
    monkeypatch.setattr(slurm, "probe", scontrol)
    monkeypatch.setattr("syslog.syslog", lambda *_: None)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    node = Expectations("n1", "gpu", 8, 0, None, (), 0)
    monkeypatch.setattr(Expectations, "load", classmethod(lambda _: node))
    return scontrol


def run(monkeypatch: pytest.MonkeyPatch, finding: Finding, *arguments: str) -> int:
    monkeypatch.setattr(program, "run_checks", lambda _: (finding,))
    return program.main(arguments)


DRAIN = "update nodename=n1 state=drain reason=slurmpod: 7 of 8 accelerators"


class TestBadNode:
    def test_a_job_that_starts_waits_for_another_node(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Scontrol
    ) -> None:
        assert run(monkeypatch, BAD, "--prolog") == program.UNHEALTHY
        assert scontrol.asked == [DRAIN, "requeue 7"]

    def test_a_job_that_ended_has_ended(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Scontrol
    ) -> None:
        assert run(monkeypatch, BAD, "--epilog") == program.UNHEALTHY
        assert scontrol.asked == [DRAIN]

    @pytest.mark.parametrize(
        ("state", "why"),
        [("MIXED+CLOUD+FAIL", "Action:Replace"), ("IDLE+CLOUD+DRAIN", "by hand")],
    )
    def test_what_others_have_decided_stays(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Scontrol, state: str, why: str
    ) -> None:
        scontrol.state, scontrol.reason = state, why
        run(monkeypatch, BAD, "--epilog")
        assert scontrol.asked == []

    def test_without_an_answer_of_slurm_the_job_does_not_start_either(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Scontrol
    ) -> None:
        def silent(*_: str, seconds: float) -> str:
            raise ProbeFailed(f"no answer within {seconds} s")

        del scontrol
        monkeypatch.setattr(slurm, "probe", silent)
        assert run(monkeypatch, BAD, "--prolog") == program.UNHEALTHY

    def test_looking_drains_nobody(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Scontrol
    ) -> None:
        assert run(monkeypatch, BAD) == program.UNHEALTHY
        assert scontrol.asked == []


class Cluster:
    """What slurmctld knows of several nodes, by their partitions."""

    def __init__(self, **partitions: str) -> None:
        self.partitions = partitions
        self.reasons = dict.fromkeys(partitions, "")
        self.is_silent_about_others = False

    def __call__(self, *command: str, seconds: float) -> str:
        assert seconds
        if "show" not in command:
            words = dict(word.split("=", 1) for word in command[2:])
            self.reasons[words["nodename"]] = words.get("reason", "")
            return ""
        names = [command[4]] if len(command) > 4 else list(self.partitions)
        if len(names) > 1 and self.is_silent_about_others:
            raise ProbeFailed("no answer")
        return "".join(f"{self._line(name)}\n" for name in names)

    def _line(self, name: str) -> str:
        reason = self.reasons[name]
        state = "IDLE+CLOUD" + ("+DRAIN" if reason else "")
        said = f" Reason={reason} [root@2026-01-01T00:00:00]" if reason else ""
        return f"NodeName={name} State={state} Partitions={self.partitions[name]} {said}"

    def drained(self) -> list[str]:
        return [name for name, reason in self.reasons.items() if reason.startswith("slurmpod: ")]


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster(n1="dev,gpu", n2="dev,gpu", n3="dev,gpu", n4="dev,gpu", c1="dev", c2="dev")
    monkeypatch.setattr(slurm, "probe", cluster)
    monkeypatch.setattr("syslog.syslog", lambda *_: None)
    return cluster


class TestFaultOfAllNodes:
    """A wrong catalog, say: every node of a type finds the same."""

    def test_drains_no_more_than_half_of_a_partition(self, four: Cluster) -> None:
        assert [slurm.drain(node, "7 of 8") for node in ("n1", "n2", "n3", "n4")] == [
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
                slurm.drain(queue.pop(), "7 of 8")
            return four(*command, seconds=seconds)

        monkeypatch.setattr(slurm, "probe", slow)
        slurm.drain(queue.pop(), "7 of 8")
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
        four.is_silent_about_others = True
        assert not slurm.drain("n1", "7 of 8")
        assert four.drained() == []

    def test_is_not_what_others_have_drained_nodes_for(self, four: Cluster) -> None:
        four.reasons.update(n3="by hand", n4="by hand")
        assert slurm.drain("n1", "7 of 8")
        assert not slurm.drain("n2", "7 of 8"), "none would be left"

    def test_is_no_question_where_a_partition_has_one_node(self, four: Cluster) -> None:
        four.partitions["c1"] = "dev,cpu"
        assert slurm.drain("c1", "the clock is off by 11 s")

    def test_does_not_bring_back_who_was_drained_before(self, four: Cluster) -> None:
        four.reasons.update(n1="slurmpod: a", n2="slurmpod: b", n3="slurmpod: c")
        assert slurm.drain("n1", "7 of 8")
        assert four.drained() == ["n1", "n2", "n3"]


class TestOtherNodes:
    def test_what_may_be_everybodys_starts_jobs(
        self, monkeypatch: pytest.MonkeyPatch, scontrol: Scontrol
    ) -> None:
        assert run(monkeypatch, SHARED, "--prolog") == 0
        assert scontrol.asked == []

    @pytest.mark.parametrize(
        ("finding", "state", "why", "resumed"),
        [
            (GOOD, "IDLE+CLOUD+DRAIN", "slurmpod: 7 of 8 accelerators", True),
            (BAD, "IDLE+CLOUD+DRAIN", "slurmpod: 7 of 8 accelerators", False),
            (GOOD, "IDLE+CLOUD+DRAIN", "by hand, not slurmpod: x", False),
            (GOOD, "IDLE+CLOUD", "", False),
        ],
    )
    def test_only_its_own_drain_is_undone_and_only_on_a_good_node(
        self,
        monkeypatch: pytest.MonkeyPatch,
        scontrol: Scontrol,
        finding: Finding,
        state: str,
        why: str,
        *,
        resumed: bool,
    ) -> None:
        scontrol.state, scontrol.reason = state, why
        run(monkeypatch, finding, "--resume")
        assert scontrol.asked == (["update nodename=n1 state=resume"] if resumed else [])
