"""The log group of a cluster, and what HyperPod's agents write there beside the scripts' output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from slurmpod.rehearsal.platform.cluster_agent import hostname

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode
    from slurmpod.rehearsal.platform.cluster_run import ClusterRun


def log_group(cluster: Cluster) -> str:
    """Return the name of the group in CloudWatch Logs that HyperPod makes for a cluster."""
    return f"/aws/sagemaker/Clusters/{cluster.name}/{cluster.id}"


def write_cluster_log(run: ClusterRun, node: ClusterNode, stream: str, line: str) -> None:
    """Append a line with the rights of the node's role, which need not be allowed to write logs.

    What is done for the node does not fail with it.
    """
    group, gateway = log_group(run.cluster), run.role(node).gateway
    try:
        gateway.create_log_stream(group, stream)
        gateway.write_log(group, stream, (line,))
    except (BotoCoreError, ClientError) as error:
        run.journal.note(hostname(node), f"not in CloudWatch Logs: {error}")
