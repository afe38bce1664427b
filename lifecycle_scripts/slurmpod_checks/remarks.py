"""Odd results of pairs and rings that are no fault of a node. Pure.

The time of a message depends on how far apart nodes are, which users cannot choose: a latency far
above that of other pairs drains no node. A slow ring has a slow node, or a slow link between
healthy ones, so its nodes are then checked in pairs, which find the node at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from slurmpod_checks.collectives import RING_ALL_REDUCE
from slurmpod_checks.judge import LEAST_OTHERS, Nodes
from slurmpod_checks.latency import EFA_LATENCY
from slurmpod_checks.records import IN_PAIR, IN_RING, NodeRecord, Result
from slurmpod_health.finding import Finding, Verdict

SLOW_RING, LATENCY = "slow ring", "latency"


def remarked(nodes: Nodes, share: float) -> dict[str, NodeRecord]:
    """Return the nodes with remarks on their newest results, each remark once."""
    return {name: _with_remarks(name, nodes, share) for name in nodes}


def calls_for_pairs(record: NodeRecord) -> bool:
    """Return whether the node's ring was odd and the node has not been checked in a pair since."""
    ring, pair = record.latest(IN_RING), record.latest(IN_PAIR)
    is_odd = ring is not None and any(each.verdict is not Verdict.GOOD for each in ring.findings)
    return is_odd and ring is not None and (pair is None or pair.at < ring.at)


def _with_remarks(name: str, nodes: Nodes, share: float) -> NodeRecord:
    record = nodes[name]
    for remark, result in [*_of_ring(name, nodes, share), *_of_pair(name, nodes, share)]:
        if all(each.check != remark.check for each in result.findings):
            new = replace(result, findings=(*result.findings, remark))
            results = tuple(new if each is result else each for each in record.results)
            record = replace(record, results=results)
    return record


def _of_ring(name: str, nodes: Nodes, share: float) -> Iterator[tuple[Finding, Result]]:
    """Yield a remark if a ring is far slower than earlier ones of the same group and type."""
    last = nodes[name].latest(IN_RING)
    if last is None or (rate := last.numbers.get(RING_ALL_REDUCE)) is None:
        return
    earlier = {
        each.at: each.numbers[RING_ALL_REDUCE]
        for record in nodes.values()
        if record.group == nodes[name].group
        for each in record.results
        if each.type == last.type and each.at < last.at and RING_ALL_REDUCE in each.numbers
    }
    if len(earlier) >= LEAST_OTHERS and rate < share * (usual := median(earlier.values())):
        detail = f"all-reduce of the ring is {rate:g} GB/s, that of earlier ones {usual:g}"
        yield Finding(SLOW_RING, Verdict.REPORTED, detail), last


def _of_pair(name: str, nodes: Nodes, share: float) -> Iterator[tuple[Finding, Result]]:
    """Yield a remark if a pair's messages take far longer than those of other nodes of its type."""
    last = nodes[name].latest(IN_PAIR)
    if last is None or (took := last.numbers.get(EFA_LATENCY)) is None:
        return
    others = [
        result.numbers[EFA_LATENCY]
        for other, record in nodes.items()
        if other not in (name, last.partner) and record.group == nodes[name].group
        if (result := record.latest(IN_PAIR)) and result.type == last.type
        if EFA_LATENCY in result.numbers
    ]
    if len(others) >= LEAST_OTHERS and share * took > (usual := median(others)):
        detail = f"a message over EFA takes {took:g} us, that of others {usual:g}"
        yield Finding(LATENCY, Verdict.REPORTED, detail), last
