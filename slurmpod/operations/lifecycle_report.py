"""Reports of the lifecycle scripts on the nodes of a deployed cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.deployment import ClusterLogs
from slurmpod.aws.session_nodes import SessionNodes

MARK = "slurmpod-report"
"""The word before a report in the output of the scripts: see slurmpod_lifecycle.report."""


@dataclass(frozen=True)
class StepReport:
    """How one step went on one node, in the words of slurmpod_lifecycle.runner."""

    name: str
    state: str
    required: bool
    seconds: float
    detail: str
    fix: str


@dataclass(frozen=True)
class NodeReport:
    """How the last run went on one node; `steps` is empty where there is no report.

    `status` is the node's in SageMaker, `name` its name in Slurm, or the instance id; `image` has
    the versions that matter of what is on it.
    """

    group: str
    instance_id: str
    status: str
    name: str
    steps: tuple[StepReport, ...] = ()
    summary: str = ""
    succeeded: bool = False
    slowest_path: tuple[str, ...] = ()
    image: Mapping[str, Any] | None = None

    @property
    def seconds(self) -> float:
        """How long it all took: as long as the steps that waited for each other."""
        took = {step.name: step.seconds for step in self.steps}
        return sum(took.get(name, 0.0) for name in self.slowest_path)


def lifecycle_reports(
    nodes: SessionNodes, logs: ClusterLogs, cluster: str
) -> tuple[NodeReport, ...]:
    """Return the last report of every node, those that failed first.

    Of a cluster without nodes, because their scripts failed, all reports that there are count.
    Raises AwsUnavailable.
    """
    lines = logs.last_lines(cluster, nodes.cluster_id(cluster), MARK)
    places = [(each.group, each.instance_id, each.status) for each in nodes.all(cluster)]
    places = places or [(*key.rpartition("/")[::2], "gone") for key in lines]
    found = [
        read_report(group, instance_id, status, lines.get(f"{group}/{instance_id}", ""))
        for group, instance_id, status in places
    ]
    return tuple(sorted(found, key=lambda each: (each.succeeded, not each.steps, each.group)))


def read_report(group: str, instance_id: str, status: str, output: str) -> NodeReport:
    """Read the last report in what the scripts of a node printed; nothing but whole ones count."""
    for line in reversed(output.splitlines()):
        _, found, text = line.partition(f"{MARK} ")
        try:
            report = json.loads(text) if found else None
        except ValueError:
            continue
        if isinstance(report, dict):
            return _of(group, instance_id, status, report)
    return NodeReport(group, instance_id, status, instance_id)


def _of(group: str, instance_id: str, status: str, report: Mapping[str, Any]) -> NodeReport:
    return NodeReport(
        group=group,
        instance_id=instance_id,
        status=status,
        name=report["node"]["name"] if report["node"] else instance_id,
        steps=tuple(
            StepReport(
                each["step"],
                each["state"],
                each["required"],
                each["seconds"],
                each["detail"],
                each["fix"],
            )
            for each in report["steps"]
        ),
        summary=report["summary"],
        succeeded=report["succeeded"],
        slowest_path=tuple(report["slowest_path"]),
        image=report["image"],
    )
