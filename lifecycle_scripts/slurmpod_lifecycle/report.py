"""What a run leaves on the node: a line that sums it up, and a report for programs."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from slurmpod_lifecycle.runner import Result, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmpod_lifecycle.node import Node


def summary(results: Sequence[Result], node: Node | None) -> str:
    """Return the last line of the log; for a failure: the step, the reason and the fix."""
    for result in results:
        if result.is_fatal:
            return f"FAILED: {result.step}: {result.detail}; fix: {result.fix}"
    who = f"{node.role.value} {node.name}" if node else "this node"
    failed = [result.step for result in results if result.state is State.FAILED]
    without = f", without the optional {', '.join(failed)}" if failed else ""
    return f"OK: {who} is set up{without}"


def report_json(results: Sequence[Result], node: Node | None, started_at: str) -> str:
    """Return the report; `node` is null when the node could not be identified."""
    report: dict[str, Any] = {
        "started_at": started_at,
        "succeeded": not any(result.is_fatal for result in results),
        "summary": summary(results, node),
        "node": _node(node) if node else None,
        "steps": [_step(result) for result in results],
    }
    return json.dumps(report, indent=2) + "\n"


def _node(node: Node) -> dict[str, str]:
    return {
        "name": node.name,
        "address": node.instance.address,
        "instance_id": node.instance.id,
        "group": node.instance.group,
        "role": node.role.value,
        "cluster": node.settings.cluster_name,
    }


def _step(result: Result) -> dict[str, Any]:
    return {**dataclasses.asdict(result), "state": result.state.value}
