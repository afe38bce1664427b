"""Rules for amounts of resources in limits, and for fair share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from slurmpod.environment.cluster import Role
from slurmpod.environment.slurm_parameters import slurm_parameters, weighted_resources
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import has_gpus, says_who_may_have_what
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import RESOURCE_LIMITS

RESOURCES = Area("RES", "Resources in Slurm's limits", reads=("cluster", "slurm"))

TRES = "https://slurm.schedmd.com/tres.html"
GPUS = "gres/gpu"
WEIGHTED = "PriorityWeightTRES"

QOS_KEYS = ("max_resources_per_job", "max_resources_per_user", "total_resources")


@RESOURCES.rule(
    "RES-001",
    "Only resources that the cluster counts are limited",
    why="sacctmgr refuses a resource that Slurm does not count, and the controller fails to start. "
    "slurmpod lets Slurm count gres/gpu where the cluster has GPUs.",
    fix="remove the resource, or limit cpu, mem, node or, with GPUs, gres/gpu",
    source=TRES,
)
def _resource_is_counted(resolved: Resolved) -> Iterator[Finding]:
    for path, limits in _all_limits(resolved):
        for name in limits:
            if name.startswith("gres/") and name != GPUS:
                yield Finding((*path, name), f"Slurm does not count {name} here", at_key=True)
            elif name == GPUS and not has_gpus(resolved) and _all_known(resolved):
                message = "no worker group has GPUs"
                yield Finding((*path, name), message, at_key=True)


@RESOURCES.rule(
    "RES-002",
    "No limit is zero",
    why="Zero is a limit, not the absence of one: jobs that need the resource wait for ever.",
    fix="remove the key to have no limit, or write 1 or more",
    source=RESOURCE_LIMITS,
    severity=Severity.WARNING,
    reads=("slurm",),
)
def _nothing_is_zero(resolved: Resolved) -> Iterator[Finding]:
    for path, limits in _all_limits(resolved):
        for name, amount in limits.items():
            if amount == 0 and not name.startswith("gres/"):
                yield Finding((*path, name), f"no job runs without {name}")
    for index, qos in enumerate(resolved.slurm.qos):
        for key in ("max_jobs_per_user", "max_submitted_jobs_per_user"):
            if getattr(qos, key) == 0:
                yield Finding(("slurm", "qos", index, key), f"no job could use '{qos.name}'")


@RESOURCES.rule(
    "RES-003",
    "A limit is below what the cluster has",
    why="A limit that the cluster cannot reach does nothing.",
    fix="lower the limit, or remove it",
    source=RESOURCE_LIMITS,
    severity=Severity.WARNING,
)
def _limit_is_reachable(resolved: Resolved) -> Iterator[Finding]:
    totals = _totals(resolved)
    for path, limits in _all_limits(resolved):
        for name, amount in limits.items():
            total = totals.get(name)
            if total and amount > total:
                unit = " MiB" if name == "mem" else ""
                message = f"the cluster has {total}{unit} of {name}, fewer than {amount}"
                yield Finding((*path, name), message)


@RESOURCES.rule(
    "RES-004",
    "A narrower limit is not above a wider one",
    why="What one job, or one user, may have counts against what all may have: the wider limit "
    "already holds, and the narrower one says something that never happens.",
    fix="lower the narrower limit, or raise the wider one",
    source=RESOURCE_LIMITS,
    severity=Severity.WARNING,
    reads=("slurm",),
)
def _limits_are_nested(resolved: Resolved) -> Iterator[Finding]:
    for index, qos in enumerate(resolved.slurm.qos):
        path: YamlPath = ("slurm", "qos", index)
        for narrow, wide in pairwise(QOS_KEYS):
            wider = getattr(qos, wide)
            for name, amount in getattr(qos, narrow).items():
                if amount > wider.get(name, amount):
                    message = f"{amount} are more than {wide} has, {wider[name]}"
                    yield Finding((*path, narrow, name), message)
        running, submitted = qos.max_jobs_per_user, qos.max_submitted_jobs_per_user
        if running is not None and submitted is not None and running > submitted:
            message = f"{running} jobs cannot run where {submitted} can be submitted"
            yield Finding((*path, "max_jobs_per_user"), message)


@RESOURCES.rule(
    "RES-005",
    "Only resources that the cluster counts have a weight",
    why="slurmctld does not start with the weight of a resource that it does not count, and a "
    "partition does not take it. slurmpod lets Slurm count gres/gpu where the cluster has GPUs and "
    "accounting.",
    fix="remove the resource",
    source=TRES,
)
def _weighted_resource_is_counted(resolved: Resolved) -> Iterator[Finding]:
    counts_gpus = resolved.slurm.accounting and (has_gpus(resolved) or not _all_known(resolved))
    for path, resource in _weighted(resolved):
        known = slurm_parameters()[WEIGHTED.lower()].words
        counted = {*known, *([GPUS] if counts_gpus else ())}
        if resource not in counted:
            message = f"Slurm does not count {resource} here"
            yield Finding(path, message, did_you_mean(resource, counted))


def _weighted(resolved: Resolved) -> Iterator[tuple[YamlPath, str]]:
    """Yield every resource with a weight, and its place."""
    for name, value in resolved.slurm.settings.items():
        if name.lower() == WEIGHTED.lower():
            for resource in weighted_resources(value) or ():
                yield ("slurm", "settings", name), resource
    for index, partition in enumerate(resolved.slurm.partitions):
        for resource in partition.billing_weights:
            yield ("slurm", "partitions", index, "billing_weights", resource), resource


@RESOURCES.rule(
    "RES-006",
    "Accelerators count in limits and fair share",
    why="Slurm counts GPUs, and no other accelerators: jobs that take all of them are counted as "
    "the few CPUs that they ask for, and limits do not see them.",
    fix="let jobs have whole nodes (--exclusive), so that their CPUs represent the accelerators, "
    "then accept the warning",
    source=TRES,
    severity=Severity.WARNING,
    reads=("access", "cluster", "slurm"),
)
def _accelerators_count(resolved: Resolved) -> Iterator[Finding]:
    if not says_who_may_have_what(resolved):
        return
    for group in resolved.groups_with(Role.WORKER):
        facts = next(filter(None, group.facts_of_types), None)
        if facts and facts.accelerator_count and facts.accelerator_kind != "gpu":
            message = f"Slurm counts no {facts.accelerator} of '{group.name}'"
            yield Finding(group.path, message)


def _all_limits(resolved: Resolved) -> Iterator[tuple[YamlPath, Mapping[str, int]]]:
    """Yield the place and the amounts of every limit."""
    for index, qos in enumerate(resolved.slurm.qos):
        for key in QOS_KEYS:
            yield ("slurm", "qos", index, key), getattr(qos, key)
    for index, account in enumerate(resolved.slurm.accounts):
        yield ("slurm", "accounts", index, "total_resources"), account.total_resources


def _totals(resolved: Resolved) -> Mapping[str, int]:
    """Return what all workers have together, as far as the catalog knows their types."""
    workers = resolved.groups_with(Role.WORKER)
    totals = {"node": sum(group.count for group in workers)}
    if not _all_known(resolved):
        return totals
    facts = [(group, group.facts) for group in workers if group.facts]
    totals["cpu"] = sum(each.cores * group.threads_per_core * group.count for group, each in facts)
    totals["mem"] = sum(each.memory_mib * group.count for group, each in facts)
    totals[GPUS] = sum(
        each.accelerator_count * group.count
        for group, each in facts
        if each.accelerator_kind == "gpu"
    )
    return totals


def _all_known(resolved: Resolved) -> bool:
    """Return whether every worker group has one type, and the catalog knows it."""
    workers = resolved.groups_with(Role.WORKER)
    return all(group.facts and len(group.instance_types) == 1 for group in workers)


FAIR_SHARES = Area("FAI", "Fair share", reads=("slurm",))

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
def _something_counts(resolved: Resolved) -> Iterator[Finding]:
    share = resolved.slurm.fair_share
    if share and not any(getattr(share, weight) for weight in WEIGHTS):
        yield Finding(("slurm", "fair_share"), "all weights are 0", at_key=True)


@FAIR_SHARES.rule(
    "FAI-002",
    "The sum of the weights fits into a priority",
    why="Each factor is at most 1, so a job's priority can be as high as the sum of the weights. "
    "Above the range of 32 bits, priorities no longer distinguish jobs.",
    fix="lower the weights: only their relations matter",
    source=MULTIFACTOR,
)
def _the_sum_fits(resolved: Resolved) -> Iterator[Finding]:
    share = resolved.slurm.fair_share
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
def _partitions_do_not_differ(resolved: Resolved) -> Iterator[Finding]:
    share = resolved.slurm.fair_share
    if share and share.partition_weight:
        path = ("slurm", "fair_share", "partition_weight")
        yield Finding(path, "it adds the same to the priority of every job", at_key=True)
