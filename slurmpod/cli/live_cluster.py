"""The live cluster of an environment, for commands that change its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import AwsClients, clients_of
from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.live_nodes import LiveNodes
from slurmpod.cli.environment import sound_environment
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deployed import require_account
from slurmpod.operations.slurm_remote import RemoteSlurm
from slurmpod.reading.read import Reading, read
from slurmpod.resolve import Resolved


@dataclass(frozen=True)
class LiveCluster:
    """An environment, as read and resolved, and the current nodes of its cluster."""

    reading: Reading
    resolved: Resolved
    clients: AwsClients
    live: LiveNodes
    nodes: tuple[Node, ...]

    def slurm(self) -> RemoteSlurm:
        """Return its Slurm; raises AwsUnavailable if no controller runs."""
        return slurm_of(self.resolved, self.clients, self.nodes)


def slurm_of(resolved: Resolved, clients: AwsClients, nodes: Sequence[Node]) -> RemoteSlurm:
    """Return the Slurm of a cluster; raises AwsUnavailable if no controller runs."""
    return RemoteSlurm.of(resolved, ClusterView(clients), nodes, NodeSessions(clients))


def live_cluster(file: Path) -> LiveCluster:
    """Find the cluster of an environment.

    Raises:
        InvalidEnvironment: The file has errors.
        AwsUnavailable: AWS does not answer, or the credentials belong to another account.
    """
    resolved = sound_environment(file).resolved
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    live = LiveNodes(clients, resolved.name)
    return LiveCluster(read(file), resolved, clients, live, live.all())
