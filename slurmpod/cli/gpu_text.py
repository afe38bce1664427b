"""GPUs by job, as a part of the screen of `slurmpod status`: jobs with idle ones first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.gpu_use import GpuUse
from slurmpod.problems import counted
from slurmpod.slurm.gpus import HeldGpus
from slurmpod.slurm.queue import QueuedJob

MOST_JOBS = 6


def gpus_by_job(
    jobs: Iterable[QueuedJob],
    held: Sequence[HeldGpus] | None,
    use: Mapping[str, GpuUse] | Unavailable,
) -> RenderableType:
    """Return which jobs hold which GPUs, and how busy they are."""
    if held is None:
        return Text.assemble(("unknown: ", "yellow"), "Slurm does not report which jobs hold them")
    if not held:
        return Text("not allocated to any job")
    known = {} if isinstance(use, Unavailable) else use
    users = {job.id: job.user for job in jobs}
    by_job: dict[str, list[HeldGpus]] = {}
    for each in held:
        by_job.setdefault(each.job, []).append(each)
    rows = sorted(by_job.items(), key=lambda row: (-_idle(known.get(row[0])), -_count(row[1])))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for job, parts in rows[:MOST_JOBS]:
        does = Text() if isinstance(use, Unavailable) else _use(use.get(job))
        table.add_row(*map(Text, (job, users[job], str(_count(parts)), _places(parts))), does)
    lines: list[RenderableType] = [Text(_sum(by_job, users)), table]
    if more := rows[MOST_JOBS:]:
        lines.append(Text(f"and {counted(len(more), 'more job')}: see --json", "dim"))
    if isinstance(use, Unavailable):
        lines.append(Text.assemble(("use unknown: ", "yellow"), use.why))
    return Group(*lines)


def _sum(by_job: Mapping[str, Sequence[HeldGpus]], users: Mapping[str, str]) -> str:
    gpus = sum(map(_count, by_job.values()))
    people = len({users[job] for job in by_job})
    return f"{gpus} held by {counted(len(by_job), 'job')} of {counted(people, 'user')}"


def _count(parts: Sequence[HeldGpus]) -> int:
    return sum(part.count for part in parts)


def _places(parts: Sequence[HeldGpus]) -> str:
    first = f"{parts[0].nodes}: {parts[0].numbers}"
    return f"{first}, ..." if len(parts) > 1 else first


def _idle(use: GpuUse | None) -> int:
    return use.idle if use else 0


def _use(use: GpuUse | None) -> Text:
    if use is None:
        return Text("not measured", "dim")
    text = Text(f"{use.busy:.0%} busy")
    return text.append(f", {use.idle} idle for an hour", "bold red") if use.idle else text
