"""S3 is unreachable, then refuses, then is slow, while scripts run that need something from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from slurmpod.aws.errors import suppressed
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import find, lose, scripts_run
from slurmpod.rehearsal.faults.package import mirrored_package
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.nodes.enclosure import DOOR_ADDRESS

UNREACHABLE = "Could not connect to the endpoint URL"
REFUSED = "(403) when calling the HeadObject operation: Forbidden"

_ROUTE = ["ip", "route"]
_NO_WAY = ["unreachable", f"{DOOR_ADDRESS}/32"]
_REFUSAL = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Deny", "Action": "s3:GetObject", "Resource": "*"}],
    }
)


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    root = cluster.root(worker)
    with mirrored_package(cluster, worker) as package, _reachable_afterwards(cluster, worker):
        root.run([*_ROUTE, "add", *_NO_WAY])
        watch.injected(f"{worker} cannot reach S3")
        with scripts_run(cluster, worker) as scripts:
            scripts.require_success(watch)
        with package.installation() as run:
            watch.until("it waits", lambda: UNREACHABLE in run.printed(), wanted=True)
            watch.noticed("the scripts themselves end well; a step that needs S3 waits")
            with _refused(cluster, worker):
                root.run([*_ROUTE, "del", *_NO_WAY])
                watch.until("it waits", lambda: REFUSED in run.printed(), wanted=True)
                watch.noticed("S3 can be reached and refuses; the step still waits")
                lose(cluster, worker, DOOR_ADDRESS)
            connecting = ["ss", "-Htn", "state", "syn-sent", "dst", DOOR_ADDRESS]
            watch.until("S3 is slow", lambda: root.run(connecting) != "", wanted=True)
            find(cluster, worker, DOOR_ADDRESS)
            watch.mended("S3 answers")
            run.require_success(watch)
    watch.recovered("the step has installed its package")


@contextmanager
def _reachable_afterwards(cluster: FaultCluster, node: str) -> Iterator[None]:
    """Let a node reach S3 when the block ends, whatever was done to its way there."""
    try:
        yield
    finally:
        find(cluster, node, DOOR_ADDRESS)


@contextmanager
def _refused(cluster: FaultCluster, node: str) -> Iterator[None]:
    """Let S3 refuse what the nodes of a group ask it for."""
    role = str(cluster.group_of(node)["ExecutionRole"]).rpartition("/")[2]
    named = {"RoleName": role, "PolicyName": "fault"}
    iam = cluster.aws.iam
    try:
        iam.put_role_policy(**named, PolicyDocument=_REFUSAL)
        yield
    finally:
        with suppressed("NoSuchEntity"):
            iam.delete_role_policy(**named)


FAULT = Fault(
    name="s3-away",
    title="S3 is unreachable, refuses or is slow while scripts run",
    sees="Nothing by default: our steps fetch nothing from S3. A node with a package to fetch takes"
    " longer. (HyperPod itself fetches the scripts: a node that cannot get them fails.)",
    logged="What the scripts print, of a new node its stream in CloudWatch Logs: the step waits,"
    " with the words of the AWS CLI (`Could not connect to the endpoint URL`, `Forbidden`).",
    recovers="The step tries again until its time is over. A checksum that is not the pinned one"
    " ends the scripts at once.",
    act=_act,
)
