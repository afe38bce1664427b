"""The deployed lifecycle scripts once more, on nodes that are up.

HyperPod runs them when it makes a node. On a live one they mend what was changed by hand, or bring
what a deployment has changed, without a new node. What runs is the bundle that the node's group has
in SageMaker, not what lies here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from slurmpod.aws.deployment import ClusterNode, Deployment
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_nodes import ListedNode, SessionNodes
from slurmpod.bundle.bundle import SHARED_SCRIPT
from slurmpod.operations.connect import NodeSessions, command_session
from slurmpod.operations.lifecycle_report import NodeReport, read_report
from slurmpod.resolve import Resolved, session_target

AT_ONCE = 4
"""Nodes on which the scripts run at the same time: few, so that a mistake does not take all."""

FOLDER = "/run/slurmpod-XXXXXXXX"
"""Each run has one, that only root sees: below /tmp it could be anybody's, and two people who run
the scripts at once must not take them from each other."""

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SAGEMAKER_RESOURCE_CONFIG_PATH": "/opt/ml/config/resource_config.json",
}
"""What HyperPod gives to the scripts."""


@dataclass(frozen=True)
class RunPlan:
    """Which scripts are to run on which nodes."""

    region: str
    cluster_id: str
    bundle_uri: str
    nodes: tuple[ClusterNode, ...]
    dry_run: bool


def plan_run(
    deployment: Deployment,
    nodes: SessionNodes,
    resolved: Resolved,
    group: str,
    only: str | None,
    *,
    dry_run: bool,
) -> RunPlan:
    """Find the nodes of a group, or the one that `only` names, and their scripts.

    Raises:
        AwsUnavailable: AWS cannot be asked, or there is nothing to run, or nowhere.
    """
    uri = nodes.bundle_uri(resolved.name, group)
    if not uri or resolved.lifecycle.own_scripts:
        whose = "scripts of its own" if uri else "no scripts"
        raise AwsUnavailable(f"{group} has {whose}: slurmpod can run only its own again")
    in_group = [each for each in nodes.all(resolved.name) if each.group == group]
    running = [each.instance_id for each in in_group if each.status == "Running"]
    wanted = [only] if only in running else running
    described = deployment.cluster_nodes(resolved.name, wanted)
    chosen = tuple(each for each in described if only in (None, each.hostname, each.instance_id))
    if not chosen:
        states = _states(in_group, wanted, described)
        raise AwsUnavailable(f"{group} has no such running node; it has {states}")
    return RunPlan(resolved.region, nodes.cluster_id(resolved.name), uri, chosen, dry_run)


def run_plan(
    plan: RunPlan, tell: Callable[[NodeReport], None], sessions: NodeSessions
) -> tuple[NodeReport, ...]:
    """Run the scripts on all nodes, a few at a time, and `tell` each result as it comes.

    On Ctrl-C the sessions end, and the scripts with them; they bear that, as they bear a repeat.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        work = [pool.submit(_run_on, plan, node, sessions) for node in plan.nodes]
        try:
            return tuple(_told(each.result(), tell) for each in as_completed(work))
        except BaseException:
            sessions.end()
            raise


def node_command(plan: RunPlan) -> str:
    """Return what a shell on a node has to do: fetch the bundle again, and run it as HyperPod."""
    fetch = ["aws", "s3", "cp", "--recursive", "--only-show-errors", "--region", plan.region]
    steps = (
        f"folder=$(mktemp --directory {FOLDER})",
        """trap 'rm -rf "$folder"' EXIT""",
        f'{shlex.join([*fetch, plan.bundle_uri])} "$folder"',
        f'{shlex.join([*_environment(), "bash"])} "$folder/{SHARED_SCRIPT}"',
    )
    together = " && ".join(steps) + (" --dry-run" if plan.dry_run else "")
    return shlex.join(["sudo", "--non-interactive", "sh", "-c", f"({together}) 2>&1"])


def _states(
    listed: Iterable[ListedNode], wanted: Collection[str], described: Iterable[ClusterNode]
) -> str:
    """Return how nodes are, by name where that is known; gone are those that were not found."""
    names = {each.instance_id: each.hostname for each in described}
    gone = set(wanted) - names.keys()
    states = [
        f"{names.get(id_, id_)} ({'gone' if id_ in gone else status})"
        for id_, status in ((each.instance_id, each.status) for each in listed)
    ]
    return ", ".join(states) or "no node"


def _environment() -> Iterator[str]:
    yield from ("env", "--ignore-environment")
    yield from (f"{name}={value}" for name, value in ENVIRONMENT.items())


def _run_on(plan: RunPlan, node: ClusterNode, sessions: NodeSessions) -> NodeReport:
    target = session_target(plan.cluster_id, node.group, node.instance_id)
    output = sessions.output(command_session(plan.region, target, node_command(plan)))
    report = read_report(node.group, node.instance_id, node.status, output)
    if report.steps:
        return report
    said = [line for line in output.splitlines() if line.strip()] or ["nothing"]
    return NodeReport(
        node.group, node.instance_id, node.status, node.hostname, summary="; ".join(said[-3:])
    )


def _told(report: NodeReport, tell: Callable[[NodeReport], None]) -> NodeReport:
    tell(report)
    return report
