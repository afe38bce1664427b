"""HyperPod's operations on a cluster and its reports on Slurm, for `status` and `why`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from slurmpod.aws.cluster_operations import (
    DEEP_CHECK,
    IN_PROGRESS,
    UNHEALTHY,
    ClusterOperation,
    ClusterOperations,
    Extension,
    GroupWork,
    SlurmReport,
)
from slurmpod.operations.attempt import Unavailable, read

DAEMON_REASONS = {
    "DaemonDown": "is not running: job records are not written",
    "DaemonDisabled": "runs, but would not start after a reboot of the controller",
    "DbUnreachable": "cannot reach its database: job records may not be written",
}
"""The meaning of an unhealthy slurmdbd by reason (API reference, SlurmHealthMetadata)."""

ROLLBACKS = {
    "NotApplicable": "nothing was changed",
    "Reverted": "the former database is in use again",
    "RevertFailed": "the former database is not in use again: accounting may not work",
}
"""The database in use after a failed change, by status (DatabaseConfigurationMetadata)."""


@dataclass(frozen=True)
class ClusterHealth:
    """Operations under way, HyperPod's last report on Slurm's accounting, and extensions."""

    operations: tuple[ClusterOperation, ...] | Unavailable
    slurm: SlurmReport | Unavailable
    extensions: tuple[Extension, ...] | Unavailable = ()


def health_of(source: ClusterOperations, *, has_extension: bool) -> ClusterHealth:
    """Query all of it; extensions only if the environment has one."""
    return ClusterHealth(
        read(lambda: source.newest(Status=IN_PROGRESS)),
        read(source.slurm),
        read(source.extensions) if has_extension else (),
    )


def under_way(operation: ClusterOperation) -> str:
    """Return an operation in one line."""
    groups = ", ".join(map(_group_text, operation.groups))
    kind = "deep health check of" if operation.kind == DEEP_CHECK else "resizing"
    return f"{kind} {groups}, since {operation.began.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def troubles(report: SlurmReport) -> Iterator[tuple[datetime, str]]:
    """Yield problems of Slurm's accounting, and their times."""
    daemon, database = report.daemon, report.database
    if daemon and daemon.status == UNHEALTHY:
        yield daemon.time, f"{daemon.component} {DAEMON_REASONS.get(daemon.reason, daemon.reason)}"
    if database and database.failure:
        outcome = ROLLBACKS.get(database.rollback, database.rollback)
        yield (
            database.time,
            f"changing the accounting database failed: {database.failure}; {outcome}",
        )
    if database and not database.failure and database.advisory:
        yield database.time, f"the accounting database was changed: {database.advisory}"


def extension_text(extension: Extension) -> str:
    """Return a line for an extension, and one for each problem."""
    counts = f"on {extension.active} of {extension.nodes} nodes"
    first = f"{extension.name} {extension.version}: {extension.status}, {counts}"
    return "\n".join((first, *extension.issues))


def _group_text(work: GroupWork) -> str:
    if work.checks:
        which = f"{len(work.instance_ids)} nodes of " if work.instance_ids else ""
        return f"{which}{work.group} ({', '.join(work.checks)})"
    return f"{work.group} ({work.before} -> {work.wanted} nodes)"
