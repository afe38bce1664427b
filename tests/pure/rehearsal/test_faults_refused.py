"""What AWS refuses during a fault is a failed fault, and updates wait for one another."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.rehearsal.drills.drill import strike
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, run_fault
from slurmpod.rehearsal.faults.instances import MANY_JOINING
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import FaultFailed, Watch
from slurmpod.rehearsal.shell import Shell
from tests.pure.rehearsal.test_faults import CLUSTER

REFUSAL = ClientError(
    {"Error": {"Code": "ConflictException", "Message": "Cluster dev is Updating"}}, "UpdateCluster"
)
SENTENCE = r"^refused: An error occurred \(ConflictException\) .*: Cluster dev is Updating$"


class SlowUpdates:
    """A cluster of which every update takes some looks, and which refuses another one meanwhile."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self._looks_left = 0

    def describe_cluster(self, **_: str) -> dict[str, Any]:
        self._looks_left -= 1
        groups = [{"InstanceGroupName": "cpu", "TargetCount": [2, *self.counts][-1]}]
        status = "Updating" if self._looks_left > 0 else "InService"
        return {"ClusterStatus": status, "InstanceGroups": groups}

    def update_cluster(self, **asked: Any) -> None:
        if self._looks_left > 0:
            raise REFUSAL
        self.counts.append(asked["InstanceGroups"][0]["InstanceCount"])
        self._looks_left = 5

    def list_cluster_nodes(self, **_: str) -> dict[str, Any]:
        names = ({"PrivateDnsHostname": name, "InstanceId": name} for name in CLUSTER.nodes)
        return {"ClusterNodeSummaries": list(names)}

    def describe_cluster_node(self, **_: str) -> dict[str, Any]:
        return {"NodeDetails": {"InstanceGroupName": "cpu"}}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time pass by looking at it."""
    seconds = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(time, "sleep", lambda _: None)


@pytest.mark.usefixtures("clock")
def test_nodes_that_do_not_come_are_taken_away_again(monkeypatch: pytest.MonkeyPatch) -> None:
    updates = SlowUpdates()
    aws: Any = SimpleNamespace(sagemaker=updates)
    monkeypatch.setattr(SteadyJob, "start", lambda *_: None)
    monkeypatch.setattr(Shell, "run", lambda *_: "down")
    with pytest.raises(FaultFailed, match="all are idle or busy: not 18 within 300 s, but 0"):
        MANY_JOINING.act(replace(CLUSTER, aws=aws), Watch(60.0))
    assert updates.counts == [18, 2]


def refused(*_: object) -> None:
    raise REFUSAL


FAULT = Fault("refused", "Title", "sees", "logged", "recovers", refused, strike=refused)


def test_what_aws_refuses_fails_the_fault_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FaultCluster, "require_whole", lambda *_: None)
    monkeypatch.setattr(FaultCluster, "slurmd_timeout", lambda _: 0)
    with pytest.raises(FaultFailed, match=SENTENCE):
        run_fault(FAULT, CLUSTER)


def test_what_aws_refuses_to_a_strike_fails_it_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FaultCluster, "nodes_of", lambda *_: ("n1",))
    run: Any = SimpleNamespace(id="1", state="RUNNING")
    with pytest.raises(FaultFailed, match=SENTENCE):
        strike(CLUSTER, FAULT, [run], Watch(0.0))
