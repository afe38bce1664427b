"""AWS actions that people need for read-only commands, by command."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.value import Value


class Right(Value):
    """An action that a command needs, its resources and its purpose."""

    action: str
    resource: str
    why: str


CLUSTER = "the cluster"
STACKS = "stacks whose names begin with the environment's"
ANY = "`*`: IAM supports no narrower resource"

NODES = (
    Right("sagemaker:DescribeCluster", CLUSTER, "status, groups, images"),
    Right("sagemaker:ListClusterNodes", CLUSTER, "nodes and their states"),
    Right("sagemaker:DescribeClusterNode", CLUSTER, "names of nodes that are listed without one"),
)
OPERATIONS = (
    Right("sagemaker:ListClusterOperations", CLUSTER, "scaling and health checks under way"),
    Right("sagemaker:DescribeClusterOperation", CLUSTER, "their groups and nodes"),
)
EVENTS = (
    Right("sagemaker:ListClusterEvents", CLUSTER, "events, with continuous provisioning"),
    Right("sagemaker:DescribeClusterEvent", CLUSTER, "health of slurmdbd and its database"),
)
EXTENSIONS = (
    Right("sagemaker:ListClusterExtensions", CLUSTER, "HyperPod's collector, where there is one"),
    Right("sagemaker:DescribeClusterExtension", "its extensions", "its version and health"),
)
SESSIONS = (
    Right(
        "ssm:StartSession",
        "the cluster, and the document AWS-StartNonInteractiveCommand",
        "queries to Slurm and to nodes",
    ),
    Right("ssmmessages:OpenDataChannel", ANY, "the plugin's way to a node"),
    Right("ssm:TerminateSession", "one's own sessions", "ending a query without an answer"),
)

LOGS = Right(
    "logs:FilterLogEvents",
    "the log group below /aws/sagemaker/Clusters/, of the cluster's name",
    "output of scripts and health checks",
)

STATUS = (
    *NODES,
    *OPERATIONS,
    *EVENTS,
    *EXTENSIONS,
    *SESSIONS,
    Right("cloudformation:DescribeStacks", ANY, "the last deployment"),
    Right("cloudformation:DescribeStackEvents", STACKS, "what happened to a stack, and when"),
    Right("cloudformation:ListStackResources", STACKS, "which alarms and budget there are"),
    Right("cloudwatch:DescribeAlarms", ANY, "alarms"),
    Right("cloudwatch:GetMetricData", ANY, "throughput of file systems"),
    Right("budgets:ViewBudget", "the environment's budget", "this month's cost"),
    Right("aps:QueryMetrics", "the environment's Prometheus workspace", "use of GPUs, charts"),
)

READING: Mapping[str, tuple[Right, ...]] = {
    "status": STATUS,
    "report": (*STATUS, LOGS),
    "why": (
        *NODES,
        *SESSIONS,
        *OPERATIONS,
        *EVENTS,
        LOGS,
    ),
    "logs": (
        *NODES,
        *SESSIONS,
        LOGS,
        Right("logs:FilterLogEvents", "the log group of sessions", "with `--kind audit`"),
    ),
    "cost": (*NODES, *SESSIONS),
}
"""All need `sts:GetCallerIdentity`, which cannot be denied."""
