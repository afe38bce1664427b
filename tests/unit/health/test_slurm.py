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
