"""What slurmctld would answer, and the program as Slurm runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import slurmpod_health.__main__ as program
from slurmpod_health import scontrol as command_of_slurm
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeTimedOut
from slurmpod_health.scontrol import Scontrol

if TYPE_CHECKING:
    import pytest

BAD = Finding("accelerators", Verdict.BAD, "7 of 8 accelerators")


class Cluster:
    """What slurmctld knows of several nodes, by their partitions."""

    def __init__(self, **partitions: str) -> None:
        self.partitions = partitions
        self.reasons = dict.fromkeys(partitions, "")
        self.silent = False
        """Whether it ends well and prints nothing."""
        self.unanswered: set[str] = set()
        """What gets no answer: `one`, `all` (to show), `drain` (done all the same), `resume`."""

    def __call__(self, *command: str, seconds: float) -> str:
        assert seconds
        words = dict(word.split("=", 1) for word in command if "=" in word)
        names = [command[4]] if len(command) > 4 else list(self.partitions)
        asked = words.get("state") or ("one" if len(names) == 1 else "all")
        if asked == "drain" or (asked == "resume" and asked not in self.unanswered):
            self.reasons[words["nodename"]] = words.get("reason", "")
        if asked in self.unanswered:
            raise ProbeTimedOut(f"no answer within {seconds:g} s")
        return "" if words or self.silent else "".join(f"{self._line(name)}\n" for name in names)

    def _line(self, name: str) -> str:
        reason = self.reasons[name]
        state = "IDLE+CLOUD" + ("+DRAIN" if reason else "")
        said = f" Reason={reason} [root@2026-01-01T00:00:00]" if reason else ""
        return f"NodeName={name} State={state} Partitions={self.partitions[name]} {said}"

    def drained(self) -> list[str]:
        return [name for name, reason in self.reasons.items() if reason.startswith("slurmpod: ")]


def four_nodes(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Return a cluster with four nodes that are alike, and two others."""
    cluster = Cluster(n1="dev,gpu", n2="dev,gpu", n3="dev,gpu", n4="dev,gpu", c1="dev", c2="dev")
    monkeypatch.setattr(command_of_slurm, "probe", cluster)
    monkeypatch.setattr("syslog.syslog", lambda *_: None)
    return cluster


def run(monkeypatch: pytest.MonkeyPatch, finding: Finding, *arguments: str) -> int:
    monkeypatch.setattr(program, "run_checks", lambda _: (finding,))
    return program.main(arguments)


def drain(node: str, reason: str) -> bool:
    return command_of_slurm.drain(Scontrol.starting_now(), node, reason)
