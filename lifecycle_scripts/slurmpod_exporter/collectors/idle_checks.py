"""Checks of idle nodes, from the controller's results: which node failed what, and when.

The exporter cannot import our other packages, so it reads the file as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from slurmpod_exporter.collector import Collector, CollectorFailed, Host
from slurmpod_exporter.exposition import Sample

SETTINGS = "/etc/slurmpod/checks.json"
"""Removed when the checks are switched off; the results stay."""

RESULTS = "/var/lib/slurmpod/checks/nodes.json"
FRESH_SECONDS = 3600
"""After this long without a round, a controller's results may be out of date."""

BAD = "bad"
RATE, LATENCY = "slurmpod_check_bytes_per_second", "slurmpod_check_latency_seconds"
UNITS = {
    "MiB/s": (RATE, 1024.0 * 1024),
    "MB/s": (RATE, 1e6),
    "GB/s": (RATE, 1e9),
    "us": (LATENCY, 1e-6),
}
"""Units of the checks, as the last word of a number's name: the metric and its factor in that
metric's unit."""

RING = "ring of "
"""The prefix of a ring's size in the partner field."""


def _collect(host: Host) -> Iterator[Sample]:
    """Yield the last round, and each node's results if the round is recent."""
    try:
        state = json.loads(host.read(RESULTS))
        yield Sample("slurmpod_checks_round_timestamp_seconds", {}, float(state["at"]))
        if host.now() - state["at"] < FRESH_SECONDS:
            for node, record in state["nodes"].items():
                yield from _of_node({"node": node}, record["results"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CollectorFailed(f"{RESULTS}: {type(error).__name__}: {error}") from None


def _of_node(node: dict[str, str], results: list[dict[str, Any]]) -> Iterator[Sample]:
    """Yield how often a node was at fault, and its newest results: alone, in a pair, in a ring."""
    if not results:
        return
    faults = sum(bool(_failed(result)) for result in results)
    yield Sample("slurmpod_check_faults", node, float(faults))
    newest = {_kind(result["partner"]): result for result in results}.values()
    at = max(float(result["at"]) for result in newest)
    yield Sample("slurmpod_check_timestamp_seconds", node, at)
    for check in sorted({check for result in newest for check in _failed(result)}):
        yield Sample("slurmpod_check_failed", {**node, "check": check}, 1.0)
    for result in newest:
        for name, number in result["numbers"].items():
            what, _, unit = name.rpartition(" ")
            metric, size = UNITS[unit]
            yield Sample(metric, {**node, "measured": what}, number * size)


def _kind(partner: str) -> str:
    """Return the label that distinguishes results of single nodes, pairs and rings."""
    return RING if partner.startswith(RING) else "pair" * bool(partner)


def _failed(result: dict[str, Any]) -> list[str]:
    return [each["check"] for each in result["findings"] if each["verdict"] == BAD]


IDLE_CHECKS = Collector(
    "idle_checks",
    lambda host: host.is_controller and bool(host.glob(SETTINGS) and host.glob(RESULTS)),
    _collect,
)
