"""The lifecycle scripts on nodes of a deployed cluster: their reports, and running them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from slurmpod.aws.cluster import IN_SERVICE, ClusterView, Node
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.bundle.bundle import SHARED_SCRIPT
from slurmpod.operations.connect import NodeSessions, command_session
from slurmpod.resolve import Resolved, session_target

MARK = "slurmpod-report"
"""The word before a report in the output of the scripts: see slurmpod_lifecycle.report."""


@dataclass(frozen=True)
class StepReport:
    """The report of one step on one node, in the words of slurmpod_lifecycle.runner."""

    name: str
    state: str
    required: bool
    seconds: float
    detail: str
    fix: str


@dataclass(frozen=True)
class NodeReport:
    """The report of the last run on one node; `steps` is empty if there is no report.

    `status` is the node's in SageMaker, `name` its Slurm name or the instance id; `image` has the
    relevant versions of its software. `ended` is when CloudWatch Logs received the report, in
    ISO 8601.
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
    ended: str = ""

    @property
    def seconds(self) -> float:
        """Wall-clock time in seconds, along the critical path."""
        took = {step.name: step.seconds for step in self.steps}
        return sum(took.get(name, 0.0) for name in self.slowest_path)


def lifecycle_reports(
    nodes: ClusterView, logs: ClusterLogs, cluster: str
) -> tuple[NodeReport, ...]:
    """Return the last report of every node, failed nodes first.

    For a cluster without nodes, because their scripts failed, returns all existing reports.
    Raises AwsUnavailable.
    """
    lines = logs.last_lines(cluster, nodes.cluster_id(cluster), MARK)
    there = nodes.nodes(cluster)
    found = [_of_node(node, lines.get(f"{node.group}/{node.instance_id}")) for node in there]
    if not there:
        found = [_logged(*key.rpartition("/")[::2], "gone", line) for key, line in lines.items()]
    return tuple(sorted(found, key=lambda each: (each.succeeded, not each.steps, each.group)))


def _of_node(node: Node, line: tuple[datetime, str] | None) -> NodeReport:
    """Return the report of an existing node, under its common name."""
    return replace(_logged(node.group, node.instance_id, node.status, line), name=node.name)


def _logged(
    group: str, instance_id: str, status: str, line: tuple[datetime, str] | None
) -> NodeReport:
    if line is None:
        return NodeReport(group, instance_id, status, instance_id)
    written, text = line
    report = read_report(group, instance_id, status, text)
    return replace(report, ended=written.isoformat(timespec="milliseconds"))


def read_report(group: str, instance_id: str, status: str, output: str) -> NodeReport:
    """Read the last complete report in the output of a node's scripts."""
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


AT_ONCE = 4
"""Nodes on which the scripts run at the same time: few, to limit the damage of a mistake."""

FOLDER = "/run/slurmpod-XXXXXXXX"
"""Each run has its own folder, readable by root only: in /tmp other users could replace it, and two
users who run the scripts at once must not share it."""

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SAGEMAKER_RESOURCE_CONFIG_PATH": "/opt/ml/config/resource_config.json",
}
"""The environment that HyperPod gives to the scripts."""


@dataclass(frozen=True)
class RunPlan:
    """The scripts to run, and their nodes."""

    region: str
    cluster_id: str
    bundle_uri: str
    nodes: tuple[Node, ...]
    dry_run: bool


def plan_run(
    nodes: ClusterView,
    resolved: Resolved,
    group: str,
    only: str | None,
    *,
    dry_run: bool,
    chosen: Collection[str] | None = None,
) -> RunPlan:
    """Find the nodes of a group, or the one that `only` names, and their scripts.

    `chosen` are the instance ids of the selected nodes, if not all.

    Raises:
        AwsUnavailable: AWS does not answer, or there are no scripts or no nodes.
    """
    uri = nodes.bundle_uri(resolved.name, group)
    if not uri or resolved.lifecycle.own_scripts:
        whose = "other scripts" if uri else "no scripts"
        raise AwsUnavailable(f"{group} has {whose}: slurmpod can run only its own again")
    in_group = [each for each in nodes.nodes(resolved.name) if each.group == group]
    meant = tuple(
        each
        for each in in_group
        if each.status == IN_SERVICE
        and (chosen is None or each.instance_id in chosen)
        and only in (None, each.name, each.instance_id)
    )
    if not meant:
        states = ", ".join(f"{each.name} ({each.status})" for each in in_group) or "no node"
        raise AwsUnavailable(f"{group} has no such running node; it has {states}")
    return RunPlan(resolved.region, nodes.cluster_id(resolved.name), uri, meant, dry_run)


def run_plan(
    plan: RunPlan, tell: Callable[[NodeReport], None], sessions: NodeSessions
) -> tuple[NodeReport, ...]:
    """Run the scripts on all nodes, a few at a time, and `tell` each result as it comes.

    On Ctrl-C the sessions and their scripts end, which is safe: the scripts can be repeated.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        work = [pool.submit(_run_on, plan, node, sessions) for node in plan.nodes]
        try:
            return tuple(_told(each.result(), tell) for each in as_completed(work))
        except BaseException:
            sessions.end()
            raise


def node_command(plan: RunPlan) -> str:
    """Return the script for a node: fetch the bundle again, and run it as HyperPod does."""
    fetch = ["aws", "s3", "cp", "--recursive", "--only-show-errors", "--region", plan.region]
    steps = (
        f"folder=$(mktemp --directory {FOLDER})",
        """trap 'rm -rf "$folder"' EXIT""",
        f'{shlex.join([*fetch, plan.bundle_uri])} "$folder"',
        f'{shlex.join([*_environment(), "bash"])} "$folder/{SHARED_SCRIPT}"',
    )
    together = " && ".join(steps) + (" --dry-run" if plan.dry_run else "")
    return shlex.join(["sudo", "--non-interactive", "sh", "-c", f"({together}) 2>&1"])


def _environment() -> Iterator[str]:
    yield from ("env", "--ignore-environment")
    yield from (f"{name}={value}" for name, value in ENVIRONMENT.items())


def _run_on(plan: RunPlan, node: Node, sessions: NodeSessions) -> NodeReport:
    target = session_target(plan.cluster_id, node.group, node.instance_id)
    try:
        output = sessions.output(command_session(target, node_command(plan)))
    except AwsUnavailable as refusal:  # only for this node: others may work
        output = str(refusal)
    report = read_report(node.group, node.instance_id, node.status, output)
    if report.steps:
        return replace(report, name=node.name)
    said = [line for line in output.splitlines() if line.strip()] or ["nothing"]
    return NodeReport(
        node.group, node.instance_id, node.status, node.name, summary="; ".join(said[-3:])
    )


def _told(report: NodeReport, tell: Callable[[NodeReport], None]) -> NodeReport:
    tell(report)
    return report
