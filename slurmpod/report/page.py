"""The page: all facts about an environment -> one self-contained HTML file.

Pure, but for the templates: the same input gives the same bytes. The page loads nothing and runs no
script, which its own content security policy enforces.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from slurmpod.folders import folder
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.slurm_overview import size_text
from slurmpod.operations.step_table import StepTable, step_table
from slurmpod.plan.amounts import figures, month_of, per_month, sum_figures
from slurmpod.plan.plan import Plan
from slurmpod.report.findings import Findings
from slurmpod.report.flows import flows
from slurmpod.report.picture import picture_of
from slurmpod.report.record import Record
from slurmpod.report.timeline import Timeline, node_runs, timeline_of
from slurmpod.resolve import Resolved

MINUTE, HOUR = 60, 3600


@dataclass(frozen=True)
class Known:
    """All facts for the page: the plan, and the record of AWS, or why there is none.

    `file` is the environment's YAML, as the user wrote it.
    """

    file: str
    resolved: Resolved
    plan: Plan
    findings: Findings
    record: Record | Unavailable


class Section(NamedTuple):
    """A part of the page: its anchor, which is also the name of its template, and its heading."""

    name: str
    title: str


class Figure(NamedTuple):
    """A key number, its unit and a remark."""

    value: str
    what: str
    remark: str = ""


ALWAYS_FIRST = (Section("picture", "Environment"),)
OF_RECORD = (
    Section("now", "Current state"),
    Section("timeline", "Last deployment"),
    Section("steps", "Lifecycle scripts"),
    Section("faults", "Faults"),
    Section("jobs", "Jobs"),
    Section("checks", "Checks of idle nodes"),
    Section("panels", "Metrics of the last hour"),
)
ALWAYS_LAST = (
    Section("costs", "Costs"),
    Section("room", "IP addresses"),
    Section("findings", "Findings and reasons"),
)
"""Each section is a file in `templates/report`."""


def page_of(known: Known) -> str:
    """Return the page."""
    record = known.record if isinstance(known.record, Record) else None
    timeline = _timeline(record)
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            known=known,
            record=record,
            resolved=known.resolved,
            plan=known.plan,
            findings=known.findings,
            timeline=timeline,
            steps=_steps(known.resolved, record),
            flows=flows(known.resolved),
            picture=picture_of(known.resolved),
            sections=tuple(_sections(record)),
            figures=tuple(_figures(known, record, timeline)),
            title=_title(known, record),
        )
    )


def _title(known: Known, record: Record | None) -> str:
    if record is None:
        return f"{known.resolved.name}: what is planned"
    if record.rehearsed:
        return f"{known.resolved.name}: rehearsal {record.rehearsed.identifier}"
    return f"{known.resolved.name}: the environment in AWS"


def _sections(record: Record | None) -> Iterator[Section]:
    yield from ALWAYS_FIRST
    if record is None:
        yield Section("way", "First deployment: order and expected time")
    if record:
        yield from (section for section in OF_RECORD if section.name not in _left_out(record))
    yield from ALWAYS_LAST


def _left_out(record: Record) -> set[str]:
    """Return the ids of sections that this environment does not need."""
    has = {
        "faults": record.rehearsed is not None and bool(record.rehearsed.faults),
        "checks": record.checks is not None,
        "panels": record.panels is not None,
    }
    return {name for name, is_there in has.items() if not is_there}


def _timeline(record: Record | None) -> Timeline | None:
    if record is None or isinstance(record.runs, Unavailable):
        return None
    reports = () if isinstance(record.nodes, Unavailable) else record.nodes
    return timeline_of(record.runs, node_runs(reports, record.launched), record.status.at)


def _steps(resolved: Resolved, record: Record | None) -> StepTable | None:
    if record is None or isinstance(record.nodes, Unavailable):
        return None
    with_steps = [report for report in record.nodes if report.steps]
    return step_table(with_steps, {group.name: group.role for group in resolved.groups})


def _figures(known: Known, record: Record | None, timeline: Timeline | None) -> Iterator[Figure]:
    groups = known.resolved.groups
    chips = sum(group.count * group.facts.accelerator_count for group in groups if group.facts)
    yield Figure(
        str(sum(group.count for group in groups)),
        "nodes",
        f"{chips} accelerators" if chips else f"in {len(groups)} groups",
    )
    hour, _, month = sum_figures(known.plan.total)
    yield Figure(hour, "USD an hour", f"{month} a month")
    if timeline:
        yield Figure(duration(timeline.seconds), "last deployment", moment(timeline.began))
    else:
        yield Figure(str(known.plan.whole), "deployment, usually", "nothing is deployed yet")
    if record and not isinstance(record.status.cluster, Unavailable):
        states = record.status.cluster.groups
        in_service = sum(state.in_service for state in states)
        wanted = sum(state.wanted for state in states)
        yield Figure(f"{in_service} of {wanted}", "in service", record.status.cluster.status)
    count = len(known.findings.warnings)
    accepted = len(known.findings.suppressed)
    yield Figure(str(count), f"warning{'' if count == 1 else 's'}", f"{accepted} accepted")


def duration(seconds: float) -> str:
    """Return a duration for people: `9.2 s`, `3 min 20 s`, `1 h 5 min`."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    if seconds < HOUR:
        return f"{int(seconds // MINUTE)} min {int(seconds % MINUTE)} s"
    return f"{int(seconds // HOUR)} h {int(seconds % HOUR // MINUTE)} min"


def data_uri(svg: str) -> str:
    """Return a picture as a data URI, so that its styles affect nothing else on the page."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def moment(when: datetime) -> str:
    """Return a time in the page's format, in UTC."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def tick(seconds: float) -> str:
    """Return a round number of seconds as an axis label: `5 s`, `2 min`, `1 h`."""
    if seconds < 2 * MINUTE:
        return f"{seconds:g} s"
    return f"{seconds / MINUTE:g} min" if seconds < 2 * HOUR else f"{seconds / HOUR:g} h"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(folder("templates") / "report"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        duration=duration,
        moment=moment,
        data_uri=data_uri,
        tick=tick,
        size=size_text,
        figures=figures,
        sum_figures=sum_figures,
        month_of=month_of,
        per_month=per_month,
    )
    environment.tests["unread"] = lambda found: isinstance(found, Unavailable)
    return environment
