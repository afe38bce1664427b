"""HyperPod's operations, and its reports on Slurm's accounting, as moments of a story."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.aws.cluster_operations import DEEP_CHECK, IN_PROGRESS, ClusterOperations, of_node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.cluster_health import troubles
from slurmpod.operations.why.story import Moment

CHECK_UNDER_WAY = "deep health check is under way"
CHECK_ENDED = "deep health check was asked for, and has ended"


def moments_of_checks(
    source: ClusterOperations, group: str, instance_id: str, unread: dict[str, str]
) -> Iterator[Moment]:
    """Yield the last deep health check of a node, which keeps jobs away while it is under way."""
    try:
        check = of_node(source.newest(Type=DEEP_CHECK), group, instance_id)
    except AwsUnavailable as refusal:
        unread["operations"] = str(refusal)
        return
    if check:
        text = CHECK_UNDER_WAY if check.status == IN_PROGRESS else CHECK_ENDED
        yield Moment(check.began, "SageMaker", text)


def moments_of_accounting(source: ClusterOperations, unread: dict[str, str]) -> Iterator[Moment]:
    """Yield HyperPod's reports on Slurm's accounting."""
    try:
        report = source.slurm()
    except AwsUnavailable as refusal:
        unread["events"] = str(refusal)
        return
    for time, text in troubles(report):
        yield Moment(time, "SageMaker", text)
