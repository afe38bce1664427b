"""A rehearsed cluster as faults use it: its nodes, their Slurm states, and their logs.

Everything is reached as users do, through sessions on nodes, except power and wires.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.hyperpod.capacity import Shortage
from slurmpod.rehearsal.shell import Shell

if TYPE_CHECKING:
    from types_boto3_sagemaker.type_defs import DescribeClusterResponseTypeDef

ENDED = "[SageMaker] The lifecycle scripts "
SUCCEEDED = f"{ENDED}succeeded."
FAILED = f"{ENDED}failed."
"""HyperPod's last line after the output of an instance's scripts starts with this."""

REPLACES = "is starting as part of instance replacement"
REPLACED = "creation completed successfully as part of instance replacement"
NOT_REPLACED = "creation failed as part of instance replacement"
"""Texts of HyperPod's cluster events (developer guide, "cluster events reference")."""

_STREAMS = "LifecycleConfig/"

SLURMD_LOG = "/var/log/slurm/slurmd.log"
PROVISIONING_LOG = "/var/log/provision/provisioning.log"


@dataclass(frozen=True)
class NodeLog:
    """The log of a node from the moment when it had `before` bytes."""

    root: Shell
    path: str
    before: int

    def says(self, text: str) -> bool:
        """Return whether a text has been written since then."""
        return text in self.new()

    def new(self) -> str:
        """Return everything written since then."""
        return self.root.run(["tail", "-c", f"+{self.before + 1}", self.path])


@dataclass(frozen=True)
class FaultCluster:
    """A cluster that runs in a rehearsal; nodes are identified by their host names.

    `folder` is its network's folder, through which nodes are entered.

    `aws` has the clients for its account. `shared` is the folder of a file system on all nodes,
    where users keep their files; `partition` has all `workers`. `shortage` controls how many
    instances EC2 has.
    """

    folder: Path
    aws: Clients
    name: str
    controller: str
    login: str
    workers: tuple[str, ...]
    partition: str
    shared: Path
    shortage: Shortage

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, the controller first."""
        return tuple(dict.fromkeys((self.controller, self.login, *self.workers)))

    @property
    def user(self) -> Shell:
        """A user's session on the node that users log in to."""
        return Shell(self.folder, self.login)

    @property
    def home(self) -> Path:
        """The user's folder on the shared file system."""
        return self.shared / self.user.user

    def root(self, node: str) -> Shell:
        """Return an administrator's session on a node."""
        return Shell(self.folder, node, "root")

    def log(self, node: str, path: str) -> NodeLog:
        """Return a log that is followed from now on."""
        root = self.root(node)
        return NodeLog(root, path, int(root.run(["stat", "--format=%s", path])))

    def status(self) -> str:
        """Return the cluster's status from DescribeCluster: `InService`, `Updating`..."""
        return self._described["ClusterStatus"]

    def state(self, worker: str) -> str:
        """Return a node's state as sinfo shows it: `idle`, `down*`, `drained`..."""
        return self._sinfo(worker, "%T")

    def is_busy(self, worker: str) -> bool:
        """Return whether a node is in service and runs a job, on all or part of it."""
        return self.state(worker) in {"allocated", "mixed"}

    def is_down(self, worker: str) -> bool:
        """Return whether Slurm considers a node down, whether it answers or not."""
        return self.state(worker) in {"down", "down*"}

    def nodes_of(self, job: str) -> tuple[str, ...]:
        """Return the nodes of a running job, its batch host first; none if it does not run."""
        asked = ["squeue", "--noheader", "--states=RUNNING", f"--jobs={job}", "--format=%B %N"]
        shown = self.user.run(asked).split()
        if len(shown) != 2:
            return ()
        names = self.user.run(["scontrol", "show", "hostnames", shown[1]]).split()
        return tuple(dict.fromkeys((shown[0], *names)))

    def reason(self, worker: str) -> str:
        """Return why a node is out of service; `none` if it is not."""
        return self._sinfo(worker, "%E")

    def slurmd_timeout(self) -> int:
        """Return the seconds after which Slurm marks a silent node down."""
        shown = self.user.run(["scontrol", "show", "config"])
        found = re.search(r"^SlurmdTimeout\s*= (\d+)", shown, re.MULTILINE)
        return int(found.group(1)) if found else 0

    def scripts_said(self, node: str, text: str) -> bool:
        """Return whether CloudWatch Logs has a text from the scripts of this instance."""
        return text in self.printed_by(self.instances()[node])

    def is_set_up(self, node: str) -> bool:
        """Return whether HyperPod has logged that the scripts of this instance succeeded."""
        return self.scripts_said(node, SUCCEEDED)

    def printed_by(self, instance: str) -> str:
        """Return the scripts' output of an instance, even a former one, from CloudWatch Logs.

        Empty while it has no stream.
        """
        logs, arn = self.aws.logs, self._described["ClusterArn"]
        group = f"/aws/sagemaker/Clusters/{self.name}/{arn.rpartition('/')[2]}"
        pages = logs.get_paginator("describe_log_streams").paginate(
            logGroupName=group, logStreamNamePrefix=_STREAMS
        )
        names = (stream["logStreamName"] for page in pages for stream in page["logStreams"])
        name = next((name for name in names if name.endswith(f"/{instance}")), None)
        if name is None:
            return ""
        events = logs.get_log_events(logGroupName=group, logStreamName=name, startFromHead=True)
        return "\n".join(event["message"] for event in events["events"])

    def has_event(self, instance: str, text: str) -> bool:
        """Return whether a cluster event about an instance contains a text.

        Only a cluster with continuous provisioning has events; for another one this returns
        whether HyperPod refuses to list them.
        """
        events = self._events(NodeId=instance)
        return events is None or any(text in event for event in events)

    def slurmdbd_is_told_to_be(self, state: str) -> bool:
        """Return whether the latest event of the accounting daemon says so, if there are any."""
        events = self._events(ResourceType="Cluster")
        if events is None:
            return True
        return next((event for event in events if "Slurmdbd" in event), "").endswith(state)

    def instances(self) -> Mapping[str, str]:
        """Return the instance ids of all nodes, by name."""
        listed = self.aws.sagemaker.list_cluster_nodes(ClusterName=self.name)
        return {
            node["PrivateDnsHostname"].partition(".")[0]: node["InstanceId"]
            for node in listed["ClusterNodeSummaries"]
        }

    def to_come(self) -> tuple[str, ...]:
        """Return the names of the nodes that HyperPod still waits for."""
        listed = self.aws.sagemaker.list_cluster_nodes(ClusterName=self.name)
        return tuple(
            node["PrivateDnsHostname"].partition(".")[0]
            for node in listed["ClusterNodeSummaries"]
            if node["InstanceStatus"]["Status"] == "Pending"
        )

    def has_successor(self, node: str, *former: str) -> bool:
        """Return whether a node has a new instance, none of its former ones."""
        return self.instances()[node] not in former

    def group_of(self, node: str) -> Mapping[str, Any]:
        """Return the instance group of a node, as in DescribeCluster."""
        described = self.aws.sagemaker.describe_cluster_node(
            ClusterName=self.name, NodeId=self.instances()[node]
        )["NodeDetails"]
        groups, name = self._described["InstanceGroups"], described["InstanceGroupName"]
        return next(dict(each) for each in groups if each["InstanceGroupName"] == name)

    def replace(self, *nodes: str) -> None:
        """Request that HyperPod replace the instances of nodes; returns at once."""
        known = self.instances()
        self.aws.sagemaker.batch_replace_cluster_nodes(
            ClusterName=self.name, NodeIds=[known[node] for node in nodes]
        )

    def resume(self, worker: str) -> None:
        """Resume a node in Slurm, as an administrator does."""
        command = ["scontrol", "update", f"nodename={worker}", "state=resume"]
        self.root(self.controller).run(command)

    def require_whole(self, watch: Watch) -> None:
        """Wait until every node is idle, no job is left and no unit has failed."""
        watch.until("all nodes are idle", self._states, {"idle"})
        watch.until("the queue is empty", lambda: self.user.run(["squeue", "--noheader"]), "")
        for node in self.nodes:
            watch.until(f"no unit of {node} failed", partial(self._failed, node), "")
            mounted = f"{self.shared} is mounted on {node}"
            watch.until(mounted, partial(self._mount_point, node), str(self.shared))

    @property
    def _described(self) -> DescribeClusterResponseTypeDef:
        """The cluster's current DescribeCluster response."""
        return self.aws.sagemaker.describe_cluster(ClusterName=self.name)

    def _events(self, **which: str) -> list[str] | None:
        """Return the texts of some events, newest first; None if HyperPod rightly refuses."""
        ask: Any = self.aws.sagemaker
        is_continuous = self._described.get("NodeProvisioningMode") == "Continuous"
        try:
            events = ask.list_cluster_events(ClusterName=self.name, **which)["Events"]
        except ClientError as error:
            is_refused = error.response["Error"]["Code"] == "ValidationException"
            return None if is_refused and not is_continuous else []
        return [each["Description"] for each in events] if is_continuous else []

    def _states(self) -> set[str]:
        return set(self.user.run(["sinfo", "--noheader", "--Node", "--format=%T"]).split())

    def _failed(self, node: str) -> str:
        return self.root(node).run(["systemctl", "--failed", "--no-legend", "--plain"])

    def _mount_point(self, node: str) -> str:
        """Return what is mounted on the shared folder of a node; the first use may mount it."""
        ask = ["findmnt", "--noheadings", "--output=TARGET", "--target", str(self.shared)]
        return self.root(node).run(ask).split()[-1]

    def _sinfo(self, worker: str, form: str) -> str:
        command = ["sinfo", "--noheader", f"--nodes={worker}", f"--partition={self.partition}"]
        return self.user.run([*command, f"--format={form}"])
