"""The result of a run: a one-line summary for people and a report for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.platform_facts import IMAGE_FACTS, noted
from slurmpod_lifecycle.runner import Result, State

MARK = "slurmpod-report"
"""The marker of the log line with the report, which slurmpod searches for in CloudWatch Logs."""

TAKES_JOBS = "takes_jobs"
"""The step whose failure makes a node useless, although a replacement would not help."""


def summary(results: Sequence[Result], node: Node | None) -> str:
    """Return the last line of the log; for a failure it has the step, the reason and the fix.

    Alarms match `FAILED:` and `fix:` in it.
    """
    for result in results:
        if result.is_fatal:
            return f"FAILED: {result.step}: {result.detail}; fix: {result.fix}"
    who = _who(node)
    if any(result.state is State.WOULD_RUN for result in results):
        return f"DRY RUN: {who} would run {_names(results, State.WOULD_RUN)}"
    for result in results:
        if result.step == TAKES_JOBS and result.state is State.FAILED:
            return f"OK: {who} is set up, but FAILED: {result.detail}; fix: {result.fix}"
    failed = _names(results, State.FAILED)
    return f"OK: {who} is set up{f', without the optional {failed}' if failed else ''}"


def make_report(results: Sequence[Result], node: Node | None, started_at: str) -> dict[str, Any]:
    """Return the report; `node` is null if the node could not be identified."""
    return {
        "started_at": started_at,
        "succeeded": not any(result.is_fatal for result in results),
        "summary": summary(results, node),
        "node": _node(node) if node else None,
        "image": _image(node) if node else None,
        "slowest_path": slowest_path(results),
        "steps": [_step(result) for result in results],
    }


def report_json(report: Mapping[str, Any]) -> str:
    """Return the report in the format of the file."""
    return json.dumps(report, indent=2) + "\n"


def report_line(report: Mapping[str, Any]) -> str:
    """Return the report as one line of the log."""
    return f"{MARK} {json.dumps(report, separators=(',', ':'))}"


def slowest_path(results: Iterable[Result]) -> list[str]:
    """Return the critical path: the steps that each waited for the one before.

    Steps without an earlier one follow the step that identifies the node.
    """
    known = {result.step: result for result in results}
    paths: dict[str, tuple[float, list[str]]] = {}

    def path(name: str) -> tuple[float, list[str]]:
        if name not in paths:
            before = [path(need) for need in known[name].needs if need in known]
            seconds, names = max(before, default=(0.0, []))
            paths[name] = (seconds + known[name].seconds, [*names, name])
        return paths[name]

    first, *rest = known or [""]
    _, names = max((path(name) for name in rest), default=(0.0, []))
    return [first, *names] if first else []


def _who(node: Node | None) -> str:
    return f"{node.role.value} {node.name}" if node else "this node"


def _names(results: Sequence[Result], state: State) -> str:
    return ", ".join(result.step for result in results if result.state is state)


def _node(node: Node) -> dict[str, str]:
    return {
        "name": node.name,
        "address": node.instance.address,
        "instance_id": node.instance.id,
        "group": node.instance.group,
        "role": node.role.value,
        "cluster": node.settings.cluster_name,
    }


def _image(node: Node) -> Any:
    return noted(node.machine.read(IMAGE_FACTS)) or None


def _step(result: Result) -> dict[str, Any]:
    return {**dataclasses.asdict(result), "state": result.state.value}
