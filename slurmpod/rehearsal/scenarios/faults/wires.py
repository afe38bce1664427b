"""Power and wires of nodes: what no session on a node can pull out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.folder import machines_cgroup

if TYPE_CHECKING:
    from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster

NOWHERE = "02:00:00:00:de:ad"
"""A hardware address that nobody has: what is sent there is lost, and nobody is told."""

_LOSE = """
ip route replace {0}/32 dev eth0 && ip neighbour replace {0} lladdr {1} dev eth0 nud permanent
"""
_FIND = "ip route del {0}/32; ip neighbour del {0} dev eth0"


def cut_power(cluster: FaultCluster, node: str) -> None:
    """End a node as a power cut does: first its wire, so that no peer is told; then everything."""
    cluster.root(node).run(["ip", "link", "delete", "eth0"])
    machines = machines_cgroup(cluster.folder)
    if machines is not None:
        cgroups.kill(machines / node)


def cut_network(cluster: FaultCluster, one: str, other: str) -> None:
    """Let nothing that two nodes send reach the other one; both reach everybody else."""
    lose(cluster, one, address(other))
    lose(cluster, other, address(one))


def heal_network(cluster: FaultCluster, one: str, other: str) -> None:
    """Let two nodes reach each other again."""
    find(cluster, one, address(other))
    find(cluster, other, address(one))


def lose(cluster: FaultCluster, node: str, to: str) -> None:
    """Lose everything that a node sends to an address, without a word."""
    cluster.root(node).run(["sh", "-c", _LOSE.format(to, NOWHERE)])


def find(cluster: FaultCluster, node: str, to: str) -> None:
    """Lose nothing more of what a node sends to an address."""
    cluster.root(node).run(["sh", "-c", _FIND.format(to)])


def address(node: str) -> str:
    """Return the address that a node's name says."""
    return node.removeprefix("ip-").replace("-", ".")
