"""Summaries of the checks for people and programs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slurmpod_checks.records import State
from slurmpod_lifecycle.dataclass_json import to_json

OFFENCES = 2
"""A node with this many faults, on any instances, is a repeat offender."""

MOST_NAMES = 20
MOST_NODES = 60
"""The number of nodes whose newest results fit quickly through a session."""


def summary(state: State) -> dict[str, Any]:
    """Return counts and the nodes that need attention, short enough for one line."""
    bad = [name for name, record in state.nodes.items() if record.is_bad]
    offenders = {
        name: record.offences for name, record in state.nodes.items() if record.offences >= OFFENCES
    }
    return {
        "at": state.at,
        "under_way": len(state.jobs),
        "checked": sum(bool(record.results) for record in state.nodes.values()),
        "bad": sorted(bad)[:MOST_NAMES],
        "offenders": dict(sorted(offenders.items())[:MOST_NAMES]),
        "trouble": state.trouble,
    }


def newest(state: State) -> dict[str, Any]:
    """Return the newest results of nodes and how often each was bad, worst first."""
    checked = [(name, record) for name, record in state.nodes.items() if record.results]
    checked.sort(key=lambda each: (not each[1].is_bad, -each[1].offences, each[0]))
    nodes = [
        {
            "name": name,
            "group": record.group,
            "checks": len(record.results),
            "offences": record.offences,
            "results": to_json(record.newest),
        }
        for name, record in checked[:MOST_NODES]
    ]
    return {"nodes": nodes, "more": len(checked) - len(nodes)}


def history(state: State, names: Sequence[str]) -> dict[str, Any]:
    """Return all results of these nodes, newest last."""
    return {
        name: to_json(state.nodes[name].results) if name in state.nodes else [] for name in names
    }
