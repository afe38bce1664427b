"""The limits of a network, and NCCL's choice of one: computed from facts and from NCCL's log."""

from __future__ import annotations

import re

SOCKETS = re.compile(r"NET/Socket|Using network Socket")
EFA = re.compile(r"Selected provider is efa|Using network (?:AWS )?Libfabric|NET/Libfabric")
"""Log lines of NCCL and AWS's plugin with NCCL_DEBUG=INFO."""


def bus_bandwidth(operation: str, size: float, seconds: float, processes: int) -> float:
    """Return GB/s of the busiest link, as nccl-tests counts them (its doc/PERFORMANCE.md)."""
    factor = (processes - 1) / processes * (2 if operation == "all-reduce" else 1)
    return factor * size / seconds / 1e9


def bound(operation: str, gigabits: float, nodes: int, per_node: int) -> float | None:
    """Return the maximum bus bandwidth in GB/s; None within one node.

    Of a message, (N-1)/N must enter each of N nodes, whatever the algorithm; so a bandwidth that
    counts (n-1)/n of it may exceed the node's network by that ratio. In an all-to-all each process
    of a node has its own message.
    """
    if nodes < 2 or not gigabits:
        return None
    processes = nodes * per_node
    shared_by = per_node if operation == "all-to-all" else 1
    return gigabits / 8 / shared_by * (processes - 1) / processes * nodes / (nodes - 1)


def network_fault(log: str) -> str:
    """Return the problem with NCCL's choice of network if there is EFA; "" for none."""
    if match := SOCKETS.search(log):
        return f"NCCL exchanges over TCP ('{match[0]}' in its log), although the nodes have EFA"
    if not EFA.search(log):
        return "NCCL's log does not say that it uses EFA"
    return ""
