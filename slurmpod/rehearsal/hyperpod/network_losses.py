"""Connections that each node of a cluster loses because its VPC blocks them, as last evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from embedded_aws.cluster import Cluster, ClusterNode
from slurmpod.aws.gateway import Gateway
from slurmpod.rehearsal.hyperpod.cluster_agent import hostname
from slurmpod.rehearsal.hyperpod.vpc_paths import Lost, VpcPaths, lose, messages
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.state import Journal


@dataclass
class NetworkLosses:
    """Makes nodes lose what the VPC blocks, and records it."""

    machines: Machines
    journal: Journal
    _paths: VpcPaths = field(default_factory=VpcPaths)
    _lost: dict[str, tuple[Lost, ...]] = field(default_factory=dict)

    def look(self, gateway: Gateway, cluster: Cluster) -> None:
        """Evaluate now what the VPC allows."""
        self._paths = VpcPaths.of(gateway, cluster)

    def lose(self, cluster: Cluster, controllers: Sequence[ClusterNode], node: ClusterNode) -> None:
        """Make a node lose what the VPC blocks; without losses, nothing is done."""
        name, lost = hostname(node), self._paths.lost(cluster, controllers, node)
        if lost or self._lost.get(name):
            lose(self.machines, name, lost)
        self._lost[name] = lost
        for message in messages(lost):
            self.journal.note(name, message)

    def of(self, node: ClusterNode) -> tuple[Lost, ...]:
        """Return the lost connections of a node."""
        return self._lost.get(hostname(node), ())

    def explained(self, node: ClusterNode, message: str) -> str:
        """Return why a node failed, with what its VPC blocks."""
        stopped = "; ".join(messages(self.of(node)))
        return f"{message.rstrip('.')}. In this VPC {stopped}." if stopped else message
