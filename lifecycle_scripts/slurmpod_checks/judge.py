"""Nodes at fault, found by comparing their numbers with others of their group. Pure.

Single nodes: a number far below the median of at least two other nodes of the same type is a fault.
Numbers of shared storage are only reported, as its other load is unknown.

Pairs: a rate far below the median of the best rates of the group's nodes. Either node may be the
cause, so each is paired with another partner whose own last exchange was good. A node that is slow
again is at fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from slurmpod_checks.collectives import ALL_REDUCE
from slurmpod_checks.latency import EFA_RATE
from slurmpod_checks.pair import PAIR
from slurmpod_checks.records import ALONE, IN_PAIR, NodeRecord, Result
from slurmpod_health.finding import Finding, Verdict

LEAST_OTHERS = 2
RATES = {PAIR: "exchange", ALL_REDUCE: "all-reduce", EFA_RATE: "exchange over EFA"}
"""The metrics of pairs, with their names in drain reasons."""

Nodes = Mapping[str, NodeRecord]


def slow_alone(name: str, nodes: Nodes, share: float) -> Iterator[Finding]:
    """Yield a fault for each number far below those of the other nodes of the group."""
    own = nodes[name].latest(ALONE)
    if own is None:
        return
    others = [
        result
        for other, record in nodes.items()
        if other != name and record.group == nodes[name].group
        if (result := record.latest(ALONE)) and result.type == own.type
    ]
    for what, number in own.numbers.items():
        numbers = [each.numbers[what] for each in others if what in each.numbers]
        if len(numbers) >= LEAST_OTHERS and number < share * median(numbers):
            verdict = Verdict.REPORTED if what.startswith("/") else Verdict.BAD
            detail = f"{what} is {number:g}, that of others {median(numbers):g}"
            yield Finding(what, verdict, detail)


def slow_in_pairs(name: str, nodes: Nodes, share: float) -> Iterator[Finding]:
    """Yield a fault if a node was slow with two partners and the second one is good."""
    pairs = nodes[name].pairs
    if len(pairs) < 2:
        return
    before, last = pairs[-2:]
    is_known = before.partner != last.partner and is_good(last.partner, nodes, share, name)
    if not is_known or before.instance != last.instance:
        return
    group = nodes[name].group
    before_slow = _slow_rates(before, group, nodes, share)
    for what in _slow_rates(last, group, nodes, share):
        if what not in before_slow:
            continue
        did, unit = RATES[what], what.rpartition(" ")[2]
        detail = f"{did} with {before.partner} and {last.partner} is {last.numbers[what]:g} {unit}"
        expected = expected_of_pairs(group, nodes, what)
        yield Finding("pairs", Verdict.BAD, f"{detail}, that of others {expected:g}")


def is_suspect(name: str, nodes: Nodes, share: float) -> bool:
    """Return whether a node's last exchange was slow and the cause is not known yet."""
    last = nodes[name].latest(IN_PAIR) if name in nodes else None
    if last is None or last.is_bad or not _is_slow(last, name, nodes, share):
        return False
    partner = nodes[last.partner].latest(IN_PAIR) if last.partner in nodes else None
    return partner is None or not partner.is_bad


def is_good(name: str, nodes: Nodes, share: float, but_with: str = "") -> bool:
    """Return whether a node's last exchange with a partner other than `but_with` was good."""
    results = nodes[name].pairs if name in nodes else ()
    pairs = [each for each in results if each.partner != but_with]
    return bool(pairs) and not _is_slow(pairs[-1], name, nodes, share)


def expected_of_pairs(group: str, nodes: Nodes, what: str) -> float | None:
    """Return the median of the nodes' best numbers, or None for too few nodes."""
    found = [list(_rates(record, what)) for record in nodes.values() if record.group == group]
    best = [max(rates) for rates in found if rates]
    return median(best) if len(best) > LEAST_OTHERS else None


def _is_slow(result: Result, name: str, nodes: Nodes, share: float) -> bool:
    return bool(_slow_rates(result, nodes[name].group, nodes, share))


def _slow_rates(result: Result, group: str, nodes: Nodes, share: float) -> list[str]:
    expected = {what: expected_of_pairs(group, nodes, what) for what in RATES}
    return [
        what
        for what, rate in expected.items()
        if rate is not None and what in result.numbers and result.numbers[what] < share * rate
    ]


def _rates(record: NodeRecord, what: str) -> Iterator[float]:
    """Yield the rates of the most recently measured instance."""
    last = record.latest(IN_PAIR)
    for each in record.pairs:
        if last and each.instance == last.instance and what in each.numbers:
            yield each.numbers[what]
