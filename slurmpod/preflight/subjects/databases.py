"""Servers of RDS."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question, all_of
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.quotas import INCREASE, Need
from slurmpod.preflight.subjects.stacks import will_be_made
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

RDS_QUOTAS = "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/CHAP_Limits.html"


def _databases(clients: AwsClients, _: Resolved) -> tuple[str, ...]:
    found = all_of(clients.rds, "describe_db_instances", "DBInstances")
    return tuple(each["DBInstanceIdentifier"] for each in found)


DATABASES = Question(
    "databases",
    "servers of RDS",
    ("rds:DescribeDBInstances",),
    ("rds",),
    _databases,
    lambda resolved: bool(resolved.slurm.rds),
)


@PREFLIGHT.rule(
    "PRE-107",
    "The quota allows the database",
    why="RDS counts the servers of a Region.",
    fix=INCREASE,
    source=RDS_QUOTAS,
)
def _database(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    servers = facts[DATABASES]
    if servers is not None and will_be_made(facts, resolved.stacks.database):
        used, path = len(servers), ("slurm", "rds")
        yield from Need("rds", "L-7B6409FD", "servers of RDS", used, 1, path).finding(facts)


QUESTIONS = (DATABASES,)
