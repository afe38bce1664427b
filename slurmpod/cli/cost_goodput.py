"""The goodput section of `slurmpod cost`: node-hours by the outcome of their jobs."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.operations.goodput import Goodput

UNKNOWN = "repeated steps and pauses are not included: see slurmpod job metrics"


def goodput_lines(goodput: Goodput) -> Iterator[str]:
    """Yield the share that completed, the other outcomes, and the limits of this figure."""
    if goodput.share is None:
        yield "goodput: unknown: no job has ended"
    else:
        yield f"goodput: {goodput.share:.0%} of {goodput.ended:,.2f} node-hours of ended jobs"
    for ending, hours in goodput.node_hours.items():
        yield f"  {ending}: {hours:,.2f}"
    yield f"  waited for in the queue: {goodput.waited_node_hours:,.2f}"
    yield UNKNOWN


def goodput_data(goodput: Goodput) -> dict[str, object]:
    """Return the same as plain data."""
    return {
        "share": goodput.share,
        "node_hours": {ending.name.lower(): hours for ending, hours in goodput.node_hours.items()},
        "waited_node_hours": goodput.waited_node_hours,
    }
