"""A cluster that answers as AWS and its controller do, and counts what it is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.session_manager import SessionRequest
from slurmpod.aws.watch import Watch
from slurmpod.operations.gpu_use import BUSY, IDLE
from slurmpod.operations.questions import END, MARK
from slurmpod.operations.status import Sources

NOW = datetime(2026, 11, 23, 22, 0, tzinfo=UTC)
BEGAN = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
PAGE = 100

HEAD = ("controller", "i-0", "10.0.0.4", "Running", "")
WORKERS = tuple(("workers", f"i-{n}", f"10.0.1.{n}", "Running", "") for n in range(1, 5))
SINFO = """\
ip-10-0-1-[1-2]|allocated|allocated+cloud|Unknown|Unknown|none|
ip-10-0-1-3|drained|idle+cloud+drain|alice|2026-11-23T21:10:00|bad NVLink | ask Bob|
ip-10-0-1-4|down*|down+cloud+not_responding|slurm|2026-11-23T21:40:00|Not responding|
"""
SQUEUE = """\
7|RUNNING|alice|cpu|2|1:02:03|NONE|ip-10-0-1-[1-2]|None|train
8|PENDING|bob|cpu|4|0:00|N/A||Resources|big
9_[1-40]|PENDING|carol|cpu|1|0:00|N/A||Priority|sweep | of all
"""
DF = "/fsx|1319413953331 1187472557998\n"

Node = tuple[str, str, str, str, str]


class Cluster:
    """Clients of boto3 and sessions on nodes, for one cluster; `asked` counts the requests.

    `refused` maps an operation to the code with which AWS refuses it.
    """

    def __init__(
        self,
        nodes: Sequence[Node] = (HEAD, *WORKERS),
        *,
        sinfo: str = SINFO,
        squeue: str = SQUEUE,
        df: str = DF,
        gpus: str = "",
        gpu_use: Mapping[str, tuple[float, int]] | None = None,
        began: datetime = BEGAN,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self.nodes = nodes
        self.began = began
        self.asked: Counter[str] = Counter()
        self.answers = {
            "slurm": "slurm 24.11.5\n",
            "system": "Ubuntu 22.04.5 LTS, kernel 6.8.0\n",
            "nodes": sinfo,
            "jobs": squeue,
            "folders": df,
            "gpus": gpus,
        }
        self.gpu_use = gpu_use or {}
        self.answers_of: dict[str, dict[str, str]] = {}
        self.events: list[dict[str, Any]] = []
        self.operations: list[dict[str, Any]] = []
        self.extensions: list[dict[str, Any]] = []
        self.log_lines: dict[str, list[str]] = {}
        self._refused = dict(refused or {})

    def sources(self) -> Sources:
        """Return the cluster as `status_of` asks it."""
        clients = self.clients()
        metrics = SimpleNamespace(range=self._range)
        return Sources(clients, Watch(clients), self.sessions(), lambda _: metrics)

    def refuse(self, operation: str, code: str) -> None:
        """Let AWS refuse an operation from now on."""
        self._refused[operation] = code

    def clients(self) -> Any:
        """Return the cluster in place of clients of boto3."""
        names = ("sagemaker", "cloudformation", "cloudwatch", "budgets", "logs")
        return SimpleNamespace(**dict.fromkeys(names, self))

    def sessions(self) -> Any:
        """Return sessions on its nodes; those without `answers_of` answer as the controller."""
        return SimpleNamespace(output=self._output, end=lambda: None)

    def get_paginator(self, name: str) -> Any:
        return SimpleNamespace(paginate=getattr(self, f"_{name}"))

    def describe_cluster(self, **_: Any) -> Any:
        self._ask("describe_cluster")
        groups = dict.fromkeys(node[0] for node in self.nodes)
        return {
            "ClusterArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdef",
            "ClusterStatus": "InService",
            "CreationTime": BEGAN,
            "InstanceGroups": [self._group(name) for name in groups],
        }

    def describe_cluster_node(self, NodeId: str, **_: Any) -> Any:  # noqa: N803
        self._ask("describe_cluster_node")
        return {"NodeDetails": {}}

    def describe_alarms(self, AlarmNames: list[str]) -> Any:  # noqa: N803
        self._ask("describe_alarms")
        alarm = {"StateValue": "ALARM", "StateUpdatedTimestamp": NOW, "AlarmDescription": "look"}
        return {"MetricAlarms": [{"AlarmName": name, **alarm} for name in AlarmNames]}

    def get_metric_data(self, MetricDataQueries: list[Any], **_: Any) -> Any:  # noqa: N803
        self._ask("get_metric_data")
        results = [{"Id": each["Id"], "Values": [3.0e9, 1.0]} for each in MetricDataQueries]
        return {"MetricDataResults": results}

    def describe_budget(self, **_: Any) -> Any:
        self._ask("describe_budget")
        spend = {"ActualSpend": {"Amount": "1234.5", "Unit": "USD"}}
        limit = {"Amount": "9000", "Unit": "USD"}
        return {"Budget": {"BudgetLimit": limit, "CalculatedSpend": spend}}

    def _list_cluster_nodes(self, **_: Any) -> Any:
        for first in range(0, len(self.nodes), PAGE):
            self._ask("list_cluster_nodes")
            nodes = self.nodes[first : first + PAGE]
            yield {"ClusterNodeSummaries": [_summary(*node, self.began) for node in nodes]}

    def _describe_stacks(self, **_: Any) -> Any:
        self._ask("describe_stacks")
        done = {"StackStatus": "CREATE_COMPLETE", "CreationTime": BEGAN}
        told = {"storage": ("FileSystemId", "fs-0123"), "monitoring": ("PrometheusEndpoint", "x")}
        outputs = {n: [{"OutputKey": k, "OutputValue": v}] for n, (k, v) in told.items()}
        yield {
            "Stacks": [
                {"StackName": f"dev-{n}", **done, "Outputs": outputs.get(n, [])}
                for n in ("network", "storage", "monitoring", "cluster")
            ]
        }

    def _list_stack_resources(self, StackName: str, **_: Any) -> Any:  # noqa: N803
        self._ask("list_stack_resources")
        found = (("AWS::CloudWatch::Alarm", "dev-alarm"), ("AWS::Budgets::Budget", "dev-budget"))
        yield {
            "StackResourceSummaries": [
                {
                    "LogicalResourceId": StackName,
                    "ResourceType": kind,
                    "PhysicalResourceId": id_,
                    "ResourceStatus": "CREATE_COMPLETE",
                }
                for kind, id_ in found
            ]
        }

    def _group(self, name: str) -> dict[str, Any]:
        members = [node for node in self.nodes if node[0] == name]
        return {
            "InstanceGroupName": name,
            "InstanceType": "ml.m5.large",
            "TargetCount": len(members),
            "CurrentCount": sum(node[3] == "Running" for node in members),
            "Status": "InService",
            "CurrentImageId": "ami-1",
            "DesiredImageId": "ami-1",
        }

    def list_cluster_events(self, **_: Any) -> Any:
        self._ask("list_cluster_events")
        return {"Events": self.events}

    def describe_cluster_event(self, EventId: str, **_: Any) -> Any:  # noqa: N803
        self._ask("describe_cluster_event")
        return {"EventDetails": next(each for each in self.events if each["EventId"] == EventId)}

    def list_cluster_operations(self, **asked: Any) -> Any:
        self._ask("list_cluster_operations")
        found = [
            each
            for each in self.operations
            if asked.get("Type", each["Type"]) == each["Type"]
            and asked.get("Status", each["Status"]) == each["Status"]
        ]
        return {"ClusterOperationSummaries": found}

    def describe_cluster_operation(self, OperationId: str, **_: Any) -> Any:  # noqa: N803
        self._ask("describe_cluster_operation")
        return next(each for each in self.operations if each["OperationId"] == OperationId)

    def list_cluster_extensions(self, **_: Any) -> Any:
        self._ask("list_cluster_extensions")
        return {"Extensions": [{"ExtensionArn": str(at)} for at, _ in enumerate(self.extensions)]}

    def describe_cluster_extension(self, ExtensionArn: str, **_: Any) -> Any:  # noqa: N803
        self._ask("describe_cluster_extension")
        return self.extensions[int(ExtensionArn)]

    def _filter_log_events(self, logStreamNamePrefix: str, **_: Any) -> Any:  # noqa: N803
        self._ask("filter_log_events")
        lines = self.log_lines.get(logStreamNamePrefix, [])
        moment = int(NOW.timestamp() * 1000) - 60_000
        yield {"events": [{"timestamp": moment, "message": line} for line in lines]}

    def _range(self, query: str, *_: float) -> Any:
        with as_unavailable("ask Prometheus"):
            self._ask(query)
        for job, (busy, idle) in self.gpu_use.items():
            yield {"__name__": BUSY, "slurm_job": job, "user": "x"}, [(0.0, busy)]
            if idle:
                yield {"__name__": IDLE, "slurm_job": job, "user": "x"}, [(0.0, float(idle))]

    def _output(self, request: SessionRequest, _: float) -> str:
        self._ask("session")
        answers = self.answers_of.get(f"i-{request.target.rpartition('-')[2]}", self.answers)
        marked = "".join(f"{MARK} {name}\n{text}" for name, text in answers.items())
        return f"Starting session\n{marked}{MARK} {END}\nExiting session\n"

    def _ask(self, operation: str) -> None:
        self.asked[operation] += 1
        if self._refused.get(operation) == "interrupt":
            raise KeyboardInterrupt
        if code := self._refused.get(operation):
            message = f"{operation} is not for you"
            raise ClientError({"Error": {"Code": code, "Message": message}}, operation)


def _summary(
    group: str, id_: str, address: str, status: str, message: str, began: datetime
) -> dict[str, Any]:
    name = f"ip-{address.replace('.', '-')}.us-west-2.compute.internal"
    return {
        "InstanceGroupName": group,
        "InstanceId": id_,
        "InstanceType": "ml.m5.large",
        "LaunchTime": began,
        "InstanceStatus": {"Status": status, "Message": message},
        "PrivateDnsHostname": name if address else "",
    }
