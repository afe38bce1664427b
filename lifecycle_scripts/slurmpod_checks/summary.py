"""What people and programs are shown of the checks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slurmpod_checks.records import State
from slurmpod_lifecycle.dataclass_json import to_json

OFFENCES = 2
"""From so many faults on, of whatever instances, a node is a repeat offender."""

MOST_NAMES = 20


def summary(state: State) -> dict[str, Any]:
    """Return counts and the names of nodes that need somebody, few enough for one line."""
    latest = {
        name: [each for pair in (False, True) if (each := record.latest(pair=pair))]
        for name, record in state.nodes.items()
    }
    checked = {name: results for name, results in latest.items() if results}
    bad = [name for name, results in checked.items() if any(each.is_bad for each in results)]
    offenders = {
        name: count
        for name, record in state.nodes.items()
        if (count := sum(each.is_bad for each in record.results)) >= OFFENCES
    }
    return {
        "at": state.at,
        "under_way": len(state.jobs),
        "checked": len(checked),
        "bad": sorted(bad)[:MOST_NAMES],
        "offenders": dict(sorted(offenders.items())[:MOST_NAMES]),
        "trouble": state.trouble,
    }


def history(state: State, names: Sequence[str]) -> dict[str, Any]:
    """Return all results of these nodes, the newest last."""
    return {
        name: to_json(state.nodes[name].results) if name in state.nodes else [] for name in names
    }
