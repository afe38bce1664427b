"""Node-hours by account, user and partition from Slurm's records, and their cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from slurmpod.aws.cluster import Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.goodput import ENDED, SECONDS_OF_AN_HOUR, SUM_BY_STATE, Goodput
from slurmpod.operations.idle import IDLE, IdleGroup, idle_command
from slurmpod.operations.questions import as_root, question
from slurmpod.plan.costs import Part, costs
from slurmpod.plan.prices import Prices
from slurmpod.resolve import Resolved
from slurmpod.resolve.resolved import ALL_NODES_PARTITION
from slurmpod.slurm.records import sacct

USED = "used"
USE_FIELDS = (
    *("jobidraw", "account", "user", "partition", "nnodes", "elapsedraw"),
    *("state", "eligible", "start"),
)
SECONDS = 60
_SUM = """'NF != 9 { print; next }
$6 > 0 { k = $2 "|" $3 "|" $4; n[k] += !seen[k, $1]++; s[k] += $5 * $6 }
END { for (k in n) printf "%s|%d|%.0f\\n", k, n[k], s[k] }'"""
"""Adds up nodes times seconds, so that the node sends few lines; other lines are unchanged.

A requeued job has a record for each of its runs, and counts once.
"""


@dataclass(frozen=True)
class Use:
    """Jobs and their node-hours; `usd` is None if a price is unknown.

    The fields that `by` does not group by are empty: account, user or partition.
    """

    account: str
    user: str
    partition: str
    jobs: int
    node_hours: float
    usd: Decimal | None


NO_GOODPUT = Goodput({}, 0.0)


@dataclass(frozen=True)
class Bill:
    """The use of a cluster in a period, and the hours of its workers.

    `idle` are the workers without jobs now, `goodput` is the outcome of the job hours.
    """

    since: datetime
    until: datetime
    uses: tuple[Use, ...]
    worker_hours: float
    idle: tuple[IdleGroup, ...] = ()
    goodput: Goodput = NO_GOODPUT

    @property
    def idle_share(self) -> float | None:
        """The share of worker hours without jobs; None without workers."""
        if not self.worker_hours:
            return None
        used = sum(use.node_hours for use in self.uses)
        return max(0.0, 1 - used / self.worker_hours)


_TOLD = "printf '%s\\n' \"$records\" | awk -F'|'"


def use_command(since: datetime, until: datetime) -> str:
    """Return the script that prints use and idle nodes on a controller; read-only."""
    asked = goodput_questions(since, until)
    return as_root(f"{asked}{question(USED, f'{_TOLD} {_SUM}')}{question(IDLE, idle_command())}")


def goodput_questions(since: datetime, until: datetime) -> str:
    """Return the script lines for root that print the outcome of runs, for `read_goodput`.

    They leave the records of the period in the variable `records`.
    """
    when = "+%Y-%m-%dT%H:%M:%S"
    begin, end = (f"$(date -d @{int(each.timestamp())} {when})" for each in (since, until))
    which = ("--duplicates", "--allusers", "--allocations", "--truncate")
    records = sacct(USE_FIELDS, *which, f"--starttime={begin}", f"--endtime={end}")
    timed = f"SLURM_TIME_FORMAT=%s timeout {SECONDS} {records}"  # scontrol goes without
    asked = f"records=$({{ {timed} || echo sacct failed; }} 2>&1)"
    sums = question(ENDED, f"{_TOLD} -v begin={int(since.timestamp())} {SUM_BY_STATE}")
    return f"PATH=/opt/slurm/bin:$PATH\n{asked}\n{sums}"


def read_uses(answer: str, usd_per_hour: Mapping[str, Decimal | None]) -> tuple[Use, ...]:
    """Read the output of `use_command`; prices are by partition.

    Raises:
        AwsUnavailable: Slurm keeps no records, or does not answer.
    """
    rows = [line.split("|") for line in answer.splitlines() if line.strip()]
    if strange := ["|".join(row) for row in rows if len(row) != 5]:
        raise AwsUnavailable(f"Slurm's records cannot be read: {strange[0]}")
    return tuple(
        _use(account, user, partition, int(jobs), int(seconds), usd_per_hour.get(partition))
        for account, user, partition, jobs, seconds in rows
    )


def _use(
    account: str, user: str, partition: str, jobs: int, seconds: int, usd: Decimal | None
) -> Use:
    cost = None if usd is None else usd * seconds / SECONDS_OF_AN_HOUR
    return Use(account, user, partition, jobs, seconds / SECONDS_OF_AN_HOUR, cost)


def prices_of_partitions(resolved: Resolved, prices: Prices) -> dict[str, Decimal | None]:
    """Return the hourly price of a node in each partition; None if unknown.

    In the partition of all nodes it is their common price, if they have one.
    """
    of_a_node = prices_of_nodes(resolved, prices)
    found: dict[str, list[Decimal | None]] = {}
    for group in resolved.groups_with(Role.WORKER):
        for partition in filter(None, (group.partition, ALL_NODES_PARTITION)):
            found.setdefault(partition, []).append(of_a_node[group.name])
    return {name: each[0] if len(set(each)) == 1 else None for name, each in found.items()}


def prices_of_nodes(resolved: Resolved, prices: Prices) -> dict[str, Decimal | None]:
    """Return the hourly price of a worker in each group; None if unknown."""
    by_group = {
        cost.name: cost.usd_per_hour for cost in costs(resolved, prices) if cost.part is Part.NODES
    }
    found: dict[str, Decimal | None] = {}
    for group in resolved.groups_with(Role.WORKER):
        usd = by_group.get(group.name)
        found[group.name] = usd / group.count if usd and group.count else None
    return found


def worker_hours(
    nodes: Iterable[Node], resolved: Resolved, since: datetime, until: datetime
) -> float:
    """Return the hours of the current workers within a period."""
    workers = {group.name for group in resolved.groups_with(Role.WORKER)}
    spans = (until - max(node.launched, since) for node in nodes if node.group in workers)
    return sum(max(span.total_seconds(), 0.0) for span in spans) / SECONDS_OF_AN_HOUR


def summed(uses: Sequence[Use], by: str) -> tuple[Use, ...]:
    """Add up uses by `account`, `user` or `partition`, the largest first."""
    groups: dict[str, list[Use]] = {}
    for use in uses:
        groups.setdefault(getattr(use, by), []).append(use)
    found = [_sum(members, **{by: name}) for name, members in groups.items()]
    return tuple(sorted(found, key=lambda use: -use.node_hours))


def _sum(members: Sequence[Use], account: str = "", user: str = "", partition: str = "") -> Use:
    known = [use.usd for use in members if use.usd is not None]
    return Use(
        account,
        user,
        partition,
        sum(use.jobs for use in members),
        sum(use.node_hours for use in members),
        sum(known, Decimal(0)) if len(known) == len(members) else None,
    )
