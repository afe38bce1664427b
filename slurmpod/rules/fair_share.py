"""Rules for the weights of fair share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

FAIR_SHARES = Area("FAI", "Fair share")

MULTIFACTOR = "https://slurm.schedmd.com/priority_multifactor.html"
WEIGHTS = ("fair_share_weight", "age_weight", "job_size_weight", "partition_weight", "qos_weight")
LARGEST_PRIORITY = 2**32 - 1
"""Priorities are unsigned numbers of 32 bits (multifactor priority plugin guide)."""


@FAIR_SHARES.rule(
    "FAI-001",
    "Some weight is above zero",
    why="With nothing but zeros every job has the same priority.",
    fix="give a weight to what should count, or remove fair_share",
    source=MULTIFACTOR,
    severity=Severity.WARNING,
)
def _something_counts(environment: Environment, _: Resolved) -> Iterator[Finding]:
    share = environment.slurm.fair_share
    if share and not any(getattr(share, weight) for weight in WEIGHTS):
        yield Finding(("slurm", "fair_share"), "all weights are 0", at_key=True)


@FAIR_SHARES.rule(
    "FAI-002",
    "All weights together are a priority",
    why="Each factor is at most 1, so a job's priority can be as high as the sum of the weights. "
    "Above what 32 bits hold, jobs can no longer be told apart.",
    fix="lower the weights: only their relations matter",
    source=MULTIFACTOR,
)
def _the_sum_fits(environment: Environment, _: Resolved) -> Iterator[Finding]:
    share = environment.slurm.fair_share
    total = sum(getattr(share, weight) for weight in WEIGHTS) if share else 0
    if total > LARGEST_PRIORITY:
        message = f"the weights sum up to {total}, more than {LARGEST_PRIORITY}"
        yield Finding(("slurm", "fair_share"), message, at_key=True)


@FAIR_SHARES.rule(
    "FAI-003",
    "The weight of partitions is left out",
    why="Partitions of HyperPod all have the same factor (PriorityJobFactor): a weight adds the "
    "same to every job. What partitions may have is a priority_tier.",
    fix="remove partition_weight; use priority_tier in slurm.partitions",
    source=MULTIFACTOR,
    severity=Severity.WARNING,
)
def _partitions_do_not_differ(environment: Environment, _: Resolved) -> Iterator[Finding]:
    share = environment.slurm.fair_share
    if share and share.partition_weight:
        path = ("slurm", "fair_share", "partition_weight")
        yield Finding(path, "it adds the same to the priority of every job", at_key=True)
