"""Reports of lifecycle scripts for people: failures first, then times, then what took longest.

Nodes that are alike are shown together, so that a page holds a cluster of any size.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from slurmpod.operations.lifecycle import NodeReport, StepReport
from slurmpod.problems import first_of

COLUMNS = 6
"""Columns of nodes that fit into a page."""

NAMES_SHOWN = 3

Columns = dict[str, list["NodeReport"]]


def print_reports(reports: Sequence[NodeReport], roles: Mapping[str, str]) -> None:
    """Print what failed, how long each step took, and the slowest path; `roles` is by group."""
    console = Console(highlight=False, soft_wrap=False)
    for line in _news(reports):
        console.print(line, soft_wrap=True)
    with_steps = [report for report in reports if report.steps]
    if any(report.seconds for report in with_steps):  # not so after a dry run
        console.print(_table(with_steps, roles))
        console.print(Text(slowest(with_steps)), soft_wrap=True)
    silent = [report for report in reports if not report.steps]
    if silent:
        console.print(Text(f"no report from {_nodes(silent)}"), soft_wrap=True)


def _news(reports: Sequence[NodeReport]) -> Iterator[Text]:
    """Yield what failed, or would run, with the nodes that it concerns: once for each reason."""
    found: dict[StepReport, list[NodeReport]] = {}
    for report in reports:
        for step in report.steps:
            if step.state in ("failed", "would run"):
                found.setdefault(replace(step, seconds=0.0), []).append(report)
    for step, nodes in found.items():
        word, style = ("FAILED", "bold red") if step.required else ("without", "yellow")
        if step.state != "failed":
            word, style = step.state, "bold"
        fix = f"\n  fix: {step.fix}" if step.fix else ""
        yield Text.assemble((word, style), f" {step.name} on {_nodes(nodes)}: {step.detail}{fix}")


def _nodes(reports: Sequence[NodeReport]) -> str:
    return first_of([f"{report.name} ({report.group})" for report in reports], NAMES_SHOWN)


def _table(reports: Sequence[NodeReport], roles: Mapping[str, str]) -> Table:
    columns = _columns(reports, roles)
    table = Table("STEP", box=None, pad_edge=False)
    for title, nodes in columns.items():
        table.add_column(f"{title} x{len(nodes)}" if len(nodes) > 1 else title, justify="right")
    for name in _step_names(reports):
        table.add_row(name, *(_cell(name, nodes) for nodes in columns.values()))
    totals = ([node.seconds for node in nodes] for nodes in columns.values())
    table.add_row("all", *(_seconds(each) for each in totals), style="bold")
    return table


def _columns(reports: Sequence[NodeReport], roles: Mapping[str, str]) -> Columns:
    """Return the nodes of each column: one by one, by group or by role, as it fits."""
    ways: tuple[Callable[[NodeReport], str], ...] = (
        lambda report: report.name,
        lambda report: report.group,
        lambda report: roles.get(report.group, "?"),
    )
    columns: Columns = {}
    for title in ways:
        columns = {}
        for report in reports:
            columns.setdefault(title(report), []).append(report)
        if len(columns) <= COLUMNS:
            break
    return columns


def _step_names(reports: Sequence[NodeReport]) -> list[str]:
    """Return the names of all steps in the order in which they ended, the longest report first."""
    longest_first = sorted(reports, key=lambda report: -len(report.steps))
    return list(dict.fromkeys(step.name for report in longest_first for step in report.steps))


def _cell(name: str, nodes: Sequence[NodeReport]) -> Text:
    steps = [step for node in nodes for step in node.steps if step.name == name]
    failed = sum(step.state == "failed" for step in steps)
    if failed:
        how_many = f" {failed}/{len(nodes)}" if len(nodes) > 1 else ""
        return Text(f"failed{how_many} {_seconds(_times(steps))}", style="red")
    if steps and all(step.state == "not run" for step in steps):
        return Text("not run", style="yellow")
    return Text(_seconds(_times(steps)))


def _times(steps: Sequence[StepReport]) -> list[float]:
    return [step.seconds for step in steps]


def _seconds(times: Sequence[float]) -> str:
    """Write how long it took on most nodes, and on the slowest where that says more."""
    if not times:
        return ""
    usual, longest = f"{statistics.median(times):.1f}", f"{max(times):.1f}"
    return usual if usual == longest else f"{usual} (max {longest})"


def slowest(reports: Sequence[NodeReport]) -> str:
    """Say which node took longest, and with which steps one after the other."""
    node = max(reports, key=lambda report: report.seconds)
    took = {step.name: step.seconds for step in node.steps}
    path = " > ".join(f"{name} {took[name]:.1f}" for name in node.slowest_path)
    return f"slowest: {node.name} ({node.group}) in {node.seconds:.1f} s: {path}"
