"""The actions of AWS that people need for commands that only look, command by command."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.value import Value


class Right(Value):
    """An action that a command needs, on what, and what for."""

    action: str
    resource: str
    why: str


CLUSTER = "the cluster"
STACKS = "stacks whose names begin with the environment's"
ANY = "`*`: IAM knows no narrower one"

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
    Right("sagemaker:DescribeClusterEvent", CLUSTER, "the health of slurmdbd and its database"),
)
EXTENSIONS = (
    Right("sagemaker:ListClusterExtensions", CLUSTER, "HyperPod's collector, where there is one"),
    Right("sagemaker:DescribeClusterExtension", "its extensions", "its version and health"),
)
SESSIONS = (
    Right(
        "ssm:StartSession",
        "the cluster, and the document AWS-StartNonInteractiveCommand",
        "questions to Slurm and to nodes",
    ),
    Right("ssmmessages:OpenDataChannel", ANY, "the plugin's way to a node"),
    Right("ssm:TerminateSession", "one's own sessions", "the end of a question without an answer"),
)

LOGS = Right(
    "logs:FilterLogEvents",
    "the log group below /aws/sagemaker/Clusters/, of the cluster's name",
    "what scripts and health checks wrote",
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
    Right("budgets:ViewBudget", "the environment's budget", "money of this month"),
    Right("aps:QueryMetrics", "the environment's Prometheus workspace", "use of GPUs, pictures"),
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
"""`sts:GetCallerIdentity`, which nobody can be denied, is needed by all."""
