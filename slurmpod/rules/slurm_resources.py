"""Rules for amounts of resources in limits: do they exist, and can they be reached?"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.problems import Severity
from slurmpod.resolve.slurm import has_gpus
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import RESOURCE_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

RESOURCES = Area("RES", "Resources in Slurm's limits")

TRES = "https://slurm.schedmd.com/tres.html"
GPUS = "gres/gpu"

QOS_KEYS = ("max_resources_per_job", "max_resources_per_user", "total_resources")


@RESOURCES.rule(
    "RES-001",
    "Only resources that the cluster counts are limited",
    why="sacctmgr refuses a resource that Slurm does not count, and the controller fails to start. "
    "slurmpod lets Slurm count gres/gpu where the cluster has GPUs.",
    fix="remove the resource, or limit cpu, mem, node or, with GPUs, gres/gpu",
    source=TRES,
)
def _resource_is_counted(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for path, limits in _all_limits(environment):
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
)
def _nothing_is_zero(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, limits in _all_limits(environment):
        for name, amount in limits.items():
            if amount == 0 and not name.startswith("gres/"):
                yield Finding((*path, name), f"no job runs without {name}")
    for index, qos in enumerate(environment.slurm.qos):
        for key in ("max_jobs_per_user", "max_submitted_jobs_per_user"):
            if getattr(qos, key) == 0:
                yield Finding(("slurm", "qos", index, key), f"nobody could use '{qos.name}'")


@RESOURCES.rule(
    "RES-003",
    "A limit is below what the cluster has",
    why="A limit that the cluster cannot reach does nothing.",
    fix="lower the limit, or remove it",
    source=RESOURCE_LIMITS,
    severity=Severity.WARNING,
)
def _limit_is_reachable(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    totals = _totals(resolved)
    for path, limits in _all_limits(environment):
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
)
def _limits_are_nested(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, qos in enumerate(environment.slurm.qos):
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


def _all_limits(environment: Environment) -> Iterator[tuple[YamlPath, Mapping[str, int]]]:
    """Yield the place and the amounts of every limit."""
    for index, qos in enumerate(environment.slurm.qos):
        for key in QOS_KEYS:
            yield ("slurm", "qos", index, key), getattr(qos, key)
    for index, account in enumerate(environment.slurm.accounts):
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
    """Tell whether every worker group has one type, and the catalog knows it."""
    workers = resolved.groups_with(Role.WORKER)
    return all(group.facts and len(group.instance_types) == 1 for group in workers)
