"""What HyperPod works at on a cluster and says of Slurm's accounting, for `status` and `why`."""

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
    "DaemonDown": "does not run: job records are not written",
    "DaemonDisabled": "runs, and would not start again after a reboot of the controller",
    "DbUnreachable": "gets no answer from its database: job records may not be written",
}
"""By reason, what an unhealthy slurmdbd means (API reference, SlurmHealthMetadata)."""

ROLLBACKS = {
    "NotApplicable": "nothing was changed",
    "Reverted": "the former database is in use again",
    "RevertFailed": "the former database is not in use again: accounting may not work",
}
"""By status, what is in use after a change that failed (DatabaseConfigurationMetadata)."""


@dataclass(frozen=True)
class ClusterHealth:
    """The operations under way, what HyperPod last said of Slurm's accounting, and extensions."""

    operations: tuple[ClusterOperation, ...] | Unavailable
    slurm: SlurmReport | Unavailable
    extensions: tuple[Extension, ...] | Unavailable = ()


def health_of(source: ClusterOperations, *, has_extension: bool) -> ClusterHealth:
    """Ask for all of it; for extensions where the environment wants one."""
    return ClusterHealth(
        read(lambda: source.newest(Status=IN_PROGRESS)),
        read(source.slurm),
        read(source.extensions) if has_extension else (),
    )


def under_way(operation: ClusterOperation) -> str:
    """Return an operation in a line."""
    groups = ", ".join(map(_group_text, operation.groups))
    kind = "deep health check of" if operation.kind == DEEP_CHECK else "another size of"
    return f"{kind} {groups}, since {operation.began.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def troubles(report: SlurmReport) -> Iterator[tuple[datetime, str]]:
    """Yield what is wrong with Slurm's accounting, and since when."""
    daemon, database = report.daemon, report.database
    if daemon and daemon.status == UNHEALTHY:
        yield daemon.time, f"{daemon.component} {DAEMON_REASONS.get(daemon.reason, daemon.reason)}"
    if database and database.failure:
        outcome = ROLLBACKS.get(database.rollback, database.rollback)
        yield database.time, f"another accounting database failed: {database.failure}; {outcome}"
    if database and not database.failure and database.advisory:
        yield database.time, f"the accounting database was changed: {database.advisory}"


def extension_text(extension: Extension) -> str:
    """Return an extension in a line for itself and one for each problem."""
    counts = f"on {extension.active} of {extension.nodes} nodes"
    first = f"{extension.name} {extension.version}: {extension.status}, {counts}"
    return "\n".join((first, *extension.issues))


def _group_text(work: GroupWork) -> str:
    if work.checks:
        which = f"{len(work.instance_ids)} nodes of " if work.instance_ids else ""
        return f"{which}{work.group} ({', '.join(work.checks)})"
    return f"{work.group} ({work.before} -> {work.wanted} nodes)"
