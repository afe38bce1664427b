"""Times of lifecycle steps: a row for each step, and columns of nodes that fit the page."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from slurmpod.operations.lifecycle import NodeReport

COLUMNS = 6
"""The most columns of nodes on a page."""


@dataclass(frozen=True)
class Cell:
    """One step on the nodes of a column, of which `failed` failed; `times` are in seconds."""

    nodes: int
    times: tuple[float, ...] = ()
    failed: int = 0
    is_not_run: bool = False

    @property
    def usual(self) -> float:
        """The median time."""
        return statistics.median(self.times) if self.times else 0.0

    @property
    def longest(self) -> float:
        """The time on the slowest node."""
        return max(self.times, default=0.0)

    @property
    def text(self) -> str:
        """The usual time, and the longest if it differs; empty if nothing was timed."""
        if not self.times:
            return ""
        usual, longest = f"{self.usual:.1f}", f"{self.longest:.1f}"
        return usual if usual == longest else f"{usual} (max {longest})"


@dataclass(frozen=True)
class StepTable:
    """Titles of columns, steps with a cell for each, and the total of all steps."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    totals: tuple[Cell, ...]

    @property
    def longest(self) -> float:
        """The longest time of any step, in seconds."""
        return max((cell.longest for _, cells in self.rows for cell in cells), default=0.0)


def step_table(reports: Sequence[NodeReport], roles: Mapping[str, str]) -> StepTable:
    """Arrange reports in a table; `roles` is by group."""
    columns = _columns(reports, roles)
    return StepTable(
        titles=tuple(
            f"{title} x{len(nodes)}" if len(nodes) > 1 else title
            for title, nodes in columns.items()
        ),
        rows=tuple(
            (name, tuple(_cell(name, nodes) for nodes in columns.values()))
            for name in _step_names(reports)
        ),
        totals=tuple(
            Cell(len(nodes), tuple(node.seconds for node in nodes)) for nodes in columns.values()
        ),
    )


def _columns(
    reports: Sequence[NodeReport], roles: Mapping[str, str]
) -> Mapping[str, Sequence[NodeReport]]:
    """Return the nodes of each column: single nodes, groups or roles, to fit the page."""
    ways: tuple[Callable[[NodeReport], str], ...] = (
        lambda report: report.name,
        lambda report: report.group,
        lambda report: roles.get(report.group, "?"),
    )
    columns: dict[str, list[NodeReport]] = {}
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


def _cell(name: str, nodes: Sequence[NodeReport]) -> Cell:
    steps = [step for node in nodes for step in node.steps if step.name == name]
    return Cell(
        nodes=len(nodes),
        times=tuple(step.seconds for step in steps),
        failed=sum(step.state == "failed" for step in steps),
        is_not_run=bool(steps) and all(step.state == "not run" for step in steps),
    )
