"""The state of an environment on one screen: problems first, similar things together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from slurmpod.aws.cluster import ClusterState, GroupState
from slurmpod.aws.stack import Stack
from slurmpod.aws.watch import Alarm
from slurmpod.cli.gpu_text import gpus_by_job
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.cluster_health import (
    ClusterHealth,
    extension_text,
    troubles,
    under_way,
)
from slurmpod.operations.gpu_use import GpuUse
from slurmpod.operations.idle_checks import CheckSummary
from slurmpod.operations.node_states import NO_WORKER, NodeRow
from slurmpod.operations.slurm_overview import Fill, Overview, size_text
from slurmpod.operations.status import FileSystem, Status
from slurmpod.problems import counted
from slurmpod.slurm.queue import QueuedJob

MOST_GROUPS, MOST_NODES, MOST_JOBS, MOST_REASONS, MOST_ALARMS = 8, 8, 4, 4, 3
"""The most lines of each part, so that everything fits one screen."""

NO_SLURM = "no slurmd (by design)"
LONGEST_NAMES = 40
TITLES_WIDTH = 10
GOOD, BAD, DIM = "green", "bold red", "dim"
FULL = 0.85
"""A file system is highlighted from this share of its capacity on."""

Part = tuple[str, RenderableType]
T = TypeVar("T")


def print_status(status: Status, console: Console) -> None:
    """Print the screen."""
    console.print(_heading(status), soft_wrap=True)
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True, width=TITLES_WIDTH)
    grid.add_column(overflow="fold")
    for title, part in _parts(status):
        grid.add_row(title, part)
    console.print(grid)


def _heading(status: Status) -> Text:
    place = f"  {status.region}  account {status.account}  {_moment(status.at)}"
    return Text.assemble((status.name, "bold"), place)


def _parts(status: Status) -> Iterator[Part]:
    yield "cluster", _or_unread(status.cluster, _cluster)
    if isinstance(status.cluster, ClusterState):
        yield "groups", _groups(status.cluster.groups)
        yield from _health(status.health)
    yield "nodes", _or_unread(status.nodes, _nodes)
    yield "jobs", _or_unread(status.slurm, _jobs)
    if isinstance(status.slurm, Overview):
        yield from _of_overview(status.slurm, status.gpu_use)
    if status.file_systems:
        yield "storage", Group(*map(_file_system, status.file_systems))
    yield "deployed", _or_unread(status.stacks, _stacks)
    yield "software", _software(status)
    yield "alarms", _or_unread(status.alarms, _alarms)
    yield (
        "this month",
        _or_unread(
            status.money, lambda found: Text(f"{found.usd:,.2f} of {found.limit_usd:,.2f} USD")
        ),
    )


def _of_overview(slurm: Overview, use: Mapping[str, GpuUse] | Unavailable | None) -> Iterator[Part]:
    if use is not None and not slurm.failure:
        yield "GPUs", gpus_by_job(slurm.jobs, slurm.gpus, use)
    if slurm.checks:
        yield "checks", checks_line(slurm.checks)


def _or_unread(found: T | Unavailable, show: Callable[[T], RenderableType]) -> RenderableType:
    return unknown(found) if isinstance(found, Unavailable) else show(found)


def unknown(found: Unavailable) -> Text:
    """Return the text in place of a value that could not be read."""
    return Text.assemble(("unknown: ", "yellow"), found.why)


def _cluster(cluster: ClusterState) -> Text:
    style = GOOD if cluster.status == "InService" else BAD
    why = f": {cluster.failure}" if cluster.failure else ""
    return Text.assemble((cluster.status, style), f"{why}, since {_moment(cluster.created)}")


def _health(health: ClusterHealth) -> Iterator[Part]:
    """Yield operations under way and problems of Slurm's accounting, if any."""
    if isinstance(health.operations, Unavailable):
        yield "under way", unknown(health.operations)
    elif health.operations:
        yield "under way", Text("\n".join(map(under_way, health.operations)))
    if isinstance(health.slurm, Unavailable):
        yield "accounting", unknown(health.slurm)
    elif found := list(troubles(health.slurm)):
        lines = (f"{text}, since {_moment(time)}" for time, text in found)
        yield "accounting", Text("\n".join(lines), BAD)
    if isinstance(health.extensions, Unavailable):
        yield "collector", unknown(health.extensions)
    for extension in () if isinstance(health.extensions, Unavailable) else health.extensions:
        is_well = extension.status == "Active" and not extension.issues
        yield "collector", Text(extension_text(extension), "" if is_well else BAD)


def _groups(groups: Sequence[GroupState]) -> RenderableType:
    in_trouble_first = sorted(groups, key=_is_well)
    table = _columns()
    for group in in_trouble_first[:MOST_GROUPS]:
        counts = Text(f"{group.in_service}/{group.wanted} in service")
        counts.stylize(GOOD if group.in_service == group.wanted else BAD)
        status = "" if group.status in ("InService", "") else group.status
        update = f"gets the image {group.wanted_image}" if _is_old(group) else ""
        plan = "its training plan has ended" if group.has_ended_plan else ""
        notes = ", ".join(filter(None, (status, plan, update)))
        table.add_row(Text(group.name), Text(group.instance_type), counts, Text(notes))
    return _with_rest(table, len(groups[MOST_GROUPS:]), "group")


def _is_well(group: GroupState) -> bool:
    return group.in_service == group.wanted and group.status in ("InService", "")


def _is_old(group: GroupState) -> bool:
    return bool(group.wanted_image) and group.image != group.wanted_image


def _nodes(rows: Sequence[NodeRow]) -> RenderableType:
    if not rows:
        return Text("none")
    states: Counter[str] = Counter()
    for row in rows:
        states[NO_SLURM if row.slurm == NO_WORKER else row.slurm] += row.count
    counts = ", ".join(f"{count} {state}" for state, count in states.most_common())
    table = _columns()
    table.add_row(*(Text(title, DIM) for title in ("", "", "SageMaker", "Slurm", "")))
    for row in rows[:MOST_NODES]:
        count = f"{row.count} x " if row.count > 1 else ""
        style = "" if row.is_well else BAD
        names, slurm = Text(f"{count}{_short(row.names)}"), Text(row.slurm, style)
        table.add_row(Text(row.group), names, Text(row.status), slurm, Text(_why(row)))
    return Group(Text(counts), _with_rest(table, len(rows[MOST_NODES:]), "line"))


def _why(row: NodeRow) -> str:
    since = f", {row.since.replace('T', ' ')[5:16]}" if row.since[:1].isdigit() else ""
    in_slurm = f"{row.who}{since}: {row.reason}" if row.reason else ""
    return "; ".join(filter(None, (in_slurm, row.message)))


def _short(names: str) -> str:
    return names if len(names) <= LONGEST_NAMES else f"{names[: LONGEST_NAMES - 3]}..."


def _jobs(slurm: Overview) -> RenderableType:
    if slurm.failure:
        return unknown(Unavailable(slurm.failure))
    running = [job for job in slurm.jobs if not job.is_waiting]
    waiting = [job for job in slurm.jobs if job.is_waiting]
    wait = sum(job.tasks for job in waiting)
    lines: list[RenderableType] = [Text(f"{len(running)} running, {wait} waiting")]
    if running:
        table = _columns()
        for job in running[:MOST_JOBS]:
            table.add_row(*map(Text, _job(job)))
        lines.append(_with_rest(table, len(running[MOST_JOBS:]), "job"))
    reasons = _tasks_by(waiting, lambda job: job.reason).most_common()
    for reason, count in reasons[:MOST_REASONS]:
        users = _tasks_by([job for job in waiting if job.reason == reason], lambda job: job.user)
        lines.append(Text(f"waiting ({reason}): {count} ({_users(users)})"))
    if more := reasons[MOST_REASONS:]:
        lines.append(Text(f"and {counted(len(more), 'more reason')}: see --json", DIM))
    return Group(*lines)


def checks_line(found: CheckSummary) -> Text:
    """Return the state of idle checks; nodes that need attention come last."""
    line = Text(f"{counted(found.checked, 'node')} checked, {found.under_way} under way")
    line.append(f", last round {_moment(found.at)}")
    if found.bad:
        line.append(f"; failed: {', '.join(found.bad)}", BAD)
    if found.offenders:
        again = (f"{name} ({count} times)" for name, count in found.offenders.items())
        line.append(f"; failed repeatedly: {', '.join(again)}", BAD)
    if found.trouble:
        line.append(f"; checks cannot start: {found.trouble}", BAD)
    return line


def _job(job: QueuedJob) -> tuple[str, ...]:
    state = "" if job.state == "RUNNING" else job.state
    nodes = f"{job.node_count} x {_short(job.nodes)}" if job.nodes else job.node_count
    return job.id, job.user, job.partition, job.elapsed, nodes, job.name, state


def _tasks_by(jobs: Iterable[QueuedJob], what: Callable[[QueuedJob], str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for job in jobs:
        found[what(job)] += job.tasks
    return found


def _users(users: Counter[str]) -> str:
    shown = [f"{user} {count}" for user, count in users.most_common(3)]
    return ", ".join(shown) + (", ..." if len(users) > len(shown) else "")


def _file_system(found: FileSystem) -> Text:
    line = Text.assemble((found.path, "bold"), f" {found.id}".rstrip(), "  ")
    line.append(_fill(found.fill))
    rate = found.throughput
    if isinstance(rate, Unavailable):
        return line.append(f"; throughput unknown: {rate.why}")
    return line.append(f"; {size_text(rate.read)}/s read, {size_text(rate.written)}/s written")


def _fill(fill: Fill | Unavailable) -> Text:
    if isinstance(fill, Unavailable):
        return Text(f"fill unknown: {fill.why}")
    if not fill.size_bytes or fill.used_bytes is None:
        return Text("does not answer", BAD)
    share = fill.used_bytes / fill.size_bytes
    text = f"{share:.0%} of {size_text(fill.size_bytes)} used"
    return Text(text, BAD if share >= FULL else "")


def _stacks(stacks: Sequence[Stack]) -> Text:
    if not stacks:
        return Text("nothing: no stack of this environment exists")
    last = max(reversed(stacks), key=lambda stack: stack.changed)
    when = _moment(datetime.fromisoformat(last.changed)) if last.changed else "at an unknown time"
    bad = [stack for stack in stacks if not stack.status.endswith("_COMPLETE") or stack.failure]
    line = Text(f"{when} ({last.name}); {counted(len(stacks), 'stack')}, ")
    if not bad:
        return line.append("all complete")
    texts = (f"{each.name} {each.status}{': ' * bool(each.failure)}{each.failure}" for each in bad)
    return line.append("; ".join(texts), BAD)


def _software(status: Status) -> Text:
    images: list[str] = []
    if isinstance(status.cluster, ClusterState):
        images = sorted({group.image for group in status.cluster.groups if group.image})
    slurm = status.slurm
    on_controller = [] if isinstance(slurm, Unavailable) else [slurm.version, slurm.system]
    return Text(", ".join([*filter(None, on_controller), *images]) or "unknown")


def _alarms(alarms: Sequence[Alarm]) -> RenderableType:
    on = [alarm for alarm in alarms if alarm.state == "ALARM"]
    blind = sum(alarm.state == "INSUFFICIENT_DATA" for alarm in alarms)
    without = f", {blind} without data" if blind else ""
    lines: list[RenderableType] = [
        Text(f"{len(on)} of {len(alarms)} on{without}", BAD if on else GOOD)
    ]
    lines += [
        Text(f"{alarm.name}, since {_moment(alarm.since)}: {alarm.text}")
        for alarm in on[:MOST_ALARMS]
    ]
    return Group(*lines)


def _columns() -> Table:
    """Return a table whose cells must be `Text`: rich reads markup in a plain string."""
    return Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))


def _with_rest(table: Table, left_out: int, noun: str) -> RenderableType:
    if not left_out:
        return table
    return Group(table, Text(f"and {counted(left_out, f'more {noun}')}: see --json", DIM))


def _moment(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
