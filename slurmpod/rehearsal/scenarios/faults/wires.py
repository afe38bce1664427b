"""Power and wires of nodes: what no session on a node can pull out."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.folder import machines_cgroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster

NOWHERE = "02:00:00:00:de:ad"
"""A hardware address that nobody has: what is sent there is lost, and nobody is told."""

_LOSE = """
ip route replace {0}/32 dev eth0 && ip neighbour replace {0} lladdr {1} dev eth0 nud permanent
"""
_FIND = "ip route flush {0}/32 && ip neighbour flush to {0} dev eth0 nud permanent"


def cut_power(cluster: FaultCluster, node: str) -> None:
    """End a node as a power cut does: first its wire, so that no peer is told; then everything."""
    cluster.root(node).run(["ip", "link", "delete", "eth0"])
    machines = machines_cgroup(cluster.folder)
    if machines is not None:
        cgroups.kill(machines / node)


@contextmanager
def cut_network(cluster: FaultCluster, one: str, other: str) -> Iterator[None]:
    """Let nothing that two nodes send reach the other one, for as long as the block.

    Both reach everybody else.
    """
    with ExitStack() as undo:
        for node, to in ((one, address(other)), (other, address(one))):
            undo.callback(find, cluster, node, to)
            lose(cluster, node, to)
        yield


def lose(cluster: FaultCluster, node: str, to: str) -> None:
    """Lose everything that a node sends to an address, without a word."""
    cluster.root(node).run(["sh", "-c", _LOSE.format(to, NOWHERE)])


def find(cluster: FaultCluster, node: str, to: str) -> None:
    """Lose nothing more of what a node sends to an address; nothing need have been lost."""
    cluster.root(node).run(["sh", "-c", _FIND.format(to)])


def address(node: str) -> str:
    """Return the address that a node's name says."""
    return node.removeprefix("ip-").replace("-", ".")
