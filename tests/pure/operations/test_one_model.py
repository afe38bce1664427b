"""One model of what is live: commands agree on a node, also where SageMaker lists no name of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import slurmpod
from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.aws.live_nodes import LiveNodes
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.operations.lifecycle import lifecycle_reports, plan_run
from slurmpod.operations.rollout import stale_nodes
from slurmpod.operations.status import status_of
from slurmpod.operations.why.why import Witnesses
from slurmpod.reading.read import read_as
from slurmpod.resolve import resolve
from slurmpod.slurm.hostlist import expanded
from tests.pure.operations.cluster_at_work import HEAD, NOW, WORKERS, Cluster
from tests.sound_environment import SOUND

RESOLVED = resolve(read_as("dev.yaml", SOUND))
NAMES = {"i-0": "ip-10-0-0-4", **{f"i-{n}": f"ip-10-0-1-{n}" for n in range(1, 5)}}


class Unnamed(Cluster):
    """A cluster whose list has no name of a node; all groups have older scripts."""

    def describe_cluster_node(self, NodeId: str, **_: Any) -> Any:  # noqa: N803 - the API's name
        (address,) = (node[2] for node in self.nodes if node[1] == NodeId)
        return {"NodeDetails": {"PrivatePrimaryIp": address}}

    def _list_cluster_nodes(self, **asked: Any) -> Iterator[Any]:
        for page in super()._list_cluster_nodes(**asked):
            listed = page["ClusterNodeSummaries"]
            yield {"ClusterNodeSummaries": [_without_name(each) for each in listed]}

    def _group(self, name: str) -> dict[str, Any]:
        return {**super()._group(name), "LifeCycleConfig": {"SourceS3Uri": "s3://of/old"}}


def _without_name(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key != "PrivateDnsHostname"}


def by_node(cluster: Unnamed) -> dict[str, str]:
    """Return the names in `node`, `scale`, `patch` and `capacity`."""
    return {node.instance_id: node.name for node in LiveNodes(cluster.clients(), "dev").all()}


def by_why(cluster: Unnamed) -> dict[str, str]:
    clients = cluster.clients()
    view, logs = ClusterView(clients), ClusterLogs(clients)
    asked = Witnesses(view, logs, cluster.sessions(), RESOLVED, "dev.yaml", NOW, 1)
    return {node.instance_id: node.name for node in asked.listed()[1]}


def by_lifecycle_run(cluster: Unnamed) -> dict[str, str]:
    view = ClusterView(cluster.clients())
    groups = ("controller", "workers")
    plans = [plan_run(view, RESOLVED, group, None, dry_run=True) for group in groups]
    return {node.instance_id: node.name for plan in plans for node in plan.nodes}


def by_lifecycle_report(cluster: Unnamed) -> dict[str, str]:
    clients = cluster.clients()
    reports = lifecycle_reports(ClusterView(clients), ClusterLogs(clients), "dev")
    return {report.instance_id: report.name for report in reports}


def by_deploy(cluster: Unnamed) -> dict[str, str]:
    view = ClusterView(cluster.clients())
    return {node.instance_id: node.name for node in stale_nodes(view, RESOLVED)}


@pytest.mark.parametrize(
    "names", [by_node, by_why, by_lifecycle_run, by_lifecycle_report, by_deploy]
)
def test_a_node_without_a_listed_name_has_the_same_name_in_every_command(
    names: Callable[[Unnamed], dict[str, str]],
) -> None:
    assert names(Unnamed([HEAD, *WORKERS])) == NAMES


def test_status_knows_it_by_that_name_in_slurm_too() -> None:
    status = status_of(Unnamed([HEAD, *WORKERS]).sources(), RESOLVED, NOW)
    assert not isinstance(status.nodes, Unavailable)
    shown = [name for row in status.nodes for name in expanded(row.names)]
    assert sorted(shown) == sorted(NAMES.values())
    assert {row.status for row in status.nodes} == {"Running"}
    assert not any(row.slurm == "not in Slurm" for row in status.nodes)


def test_only_one_place_lists_nodes_and_one_describes_stacks() -> None:
    """The function in Lambda and faults of rehearsals stand alone."""
    folder = Path(slurmpod.__file__).parent
    asks = re.compile(r"\"(list_cluster_nodes|describe_stacks)\"")
    found = {
        f"{file.relative_to(folder)}": sorted(set(asks.findall(file.read_text())))
        for file in folder.rglob("*.py")
    }
    assert {name: words for name, words in found.items() if words} == {
        "aws/cluster.py": ["list_cluster_nodes"],
        "aws/deployment.py": ["describe_stacks"],
    }


def test_the_stacks_are_those_that_status_shows() -> None:
    cluster = Cluster()
    live = LiveEnvironment(cluster.clients(), RESOLVED)
    status = status_of(cluster.sources(), RESOLVED, NOW + timedelta(0))
    assert status.stacks == live.stacks()
    assert live.outputs(RESOLVED.stacks.storage) == {"FileSystemId": "fs-0123"}
    assert live.outputs("dev-nothing") == {}
