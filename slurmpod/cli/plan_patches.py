"""The section of `slurmpod plan` on automatic patches: their dates, and the jobs that they meet."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmpod.resolve import Resolved

if TYPE_CHECKING:
    from slurmpod.operations.attempt import Unavailable
    from slurmpod.operations.patch_collisions import Collisions
    from slurmpod.slurm.queue import QueuedJob

MOST_JOBS = 8
WINDOW = "all nodes stop taking jobs for up to 24 hours, unless HyperPod is configured otherwise"


def patched_groups(resolved: Resolved) -> tuple[tuple[str, str], ...]:
    """Return the groups with automatic patches, and the strategy of each."""
    return tuple(
        (group.name, group.settings.auto_patch.strategy)
        for group in resolved.groups
        if group.settings.auto_patch
    )


def unasked_text(resolved: Resolved, file: Path) -> str:
    """Return the facts from the file, and the command for the rest; empty without patches."""
    groups = patched_groups(resolved)
    if not groups:
        return ""
    lines = [f"  {name} ({strategy}): {WINDOW}" for name, strategy in groups]
    command = f"slurmpod plan {shlex.quote(str(file))} --deployed"
    lines.append(f"  to see which running jobs would outlast it: {command}")
    return "\n".join(("", "Automatic patches, on dates that HyperPod sets", *lines, ""))


def asked(resolved: Resolved) -> tuple[Collisions, ...] | Unavailable:
    """Query HyperPod and Slurm, for groups of the file or of the deployed cluster."""
    from slurmpod.aws.clients import clients_of  # needs the extra 'aws'
    from slurmpod.operations.attempt import read
    from slurmpod.operations.connect import NodeSessions
    from slurmpod.operations.patch_collisions import collisions_of

    def ask() -> tuple[Collisions, ...]:
        clients = clients_of(resolved.region)
        return collisions_of(clients, resolved, NodeSessions(clients), datetime.now(UTC))

    return read(ask)


def asked_text(found: tuple[Collisions, ...] | Unavailable) -> str:
    """Return the findings as text; empty if no group is patched."""
    lines = list(_lines(found))
    return "\n".join(("", "Automatic patches", *lines, "")) if lines else ""


def as_data(found: tuple[Collisions, ...] | Unavailable) -> Any:
    """Return the findings as plain data."""
    from slurmpod.operations.attempt import plain  # needs the extra 'aws'

    return plain(found)


def _lines(found: tuple[Collisions, ...] | Unavailable) -> Iterator[str]:
    if not isinstance(found, tuple):
        yield f"  which running jobs would outlast them is unknown: {found.why}"
        return
    for each in found:
        when = f"on {each.begins:%Y-%m-%d %H:%M} UTC" if each.begins else "no date is set; if now"
        yield f"  {each.group} ({each.strategy}), {when}: {WINDOW}"
        yield from _job_lines(each.jobs)


def _job_lines(jobs: Sequence[QueuedJob]) -> Iterator[str]:
    if not jobs:
        yield "    every running job ends by then"
        return
    yield "    these jobs would run longer, and their nodes keep the old image:"
    for job in jobs[:MOST_JOBS]:
        until = f"until {job.ends:%Y-%m-%d %H:%M} UTC" if job.ends else "without a time limit"
        yield f"    {job.id}  {job.user}  {job.name}  {until}  {job.nodes}"
    if more := len(jobs[MOST_JOBS:]):
        yield f"    and {more} more: see --json"
