"""Derived Slurm settings: enforcement, accounts, GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.environment.cluster import Role
from slurmpod.environment.slurm import Slurm
from slurmpod.resolve.resolved import ALL_NODES_PARTITION, Resolved

NORMAL = "normal"
"""The QOS that Slurm creates, and that the account `root` has."""

ROOT = "root"
"""The account that Slurm creates, the root of all others."""


def limits_jobs(slurm: Slurm) -> bool:
    """Return whether any setting takes effect only if limits are enforced.

    With enforcement, users without an account cannot run jobs (slurm.conf(5),
    AccountingStorageEnforce), so it is on only if needed. Shares and weights do not need it.
    """
    return bool(
        slurm.qos
        or any(account.qos or account.total_resources for account in slurm.accounts)
        or any(each.qos or each.allowed_qos or each.allowed_accounts for each in slurm.partitions)
    )


def enforces_limits(resolved: Resolved) -> bool:
    """Return whether jobs are limited, or users through their accounts and QOS."""
    users = (known.user for known in resolved.access.users)
    limits_users = any(user.accounts or user.qos for user in users)
    return resolved.slurm.accounting and (limits_jobs(resolved.slurm) or limits_users)


def needs_accounts(resolved: Resolved) -> bool:
    """Return whether users need an account: for limits, fair share, or their own settings."""
    slurm = resolved.slurm
    is_for_all = limits_jobs(slurm) or slurm.accounts or slurm.fair_share
    return bool(slurm.accounting and (is_for_all or resolved.access.users))


def has_gpus(resolved: Resolved) -> bool:
    """Return whether any worker has, or may get, GPUs, which Slurm then counts as gres/gpu."""
    workers = resolved.groups_with(Role.WORKER)
    known = (facts for each in workers for facts in each.facts_of_types if facts)
    return any(facts.accelerator_kind == "gpu" for facts in known)


def says_who_may_have_what(resolved: Resolved) -> bool:
    """Return whether the environment limits jobs or partitions, or shares the cluster among people.

    If so, a job that can never run is refused at once, instead of waiting forever.
    """
    slurm = resolved.slurm
    return bool(slurm.partitions or slurm.fair_share or enforces_limits(resolved))


def billing_weights(resolved: Resolved) -> Mapping[str, Mapping[str, str]]:
    """Return the weights of resources in the usage of accounts, by partition.

    By default Slurm counts only CPUs, so 8 GPUs with one CPU would count as one CPU. Here a GPU
    counts as much as the CPUs that come with it; in `dev`, which has nodes of all kinds, the
    highest such number.
    """
    slurm = resolved.slurm
    own = {each.name: each.billing_weights for each in slurm.partitions if each.billing_weights}
    gpus = _cpus_per_gpu(resolved) if slurm.fair_share and slurm.accounting else {}
    ours = {name: {"cpu": "1", "gres/gpu": str(cpus)} for name, cpus in gpus.items()}
    return {**ours, **own}


def _cpus_per_gpu(resolved: Resolved) -> Mapping[str, int]:
    """Return the number of CPUs per GPU by partition, on the node with the highest ratio."""
    most: dict[str, int] = {}
    for group in resolved.groups_with(Role.WORKER):
        partitions = (group.partition or ALL_NODES_PARTITION, ALL_NODES_PARTITION)
        for facts in group.facts_of_types:
            if facts and facts.accelerator_kind == "gpu":
                cpus = -(-facts.cores * group.threads_per_core // facts.accelerator_count)
                most |= {name: max(cpus, most.get(name, 0)) for name in partitions}
    return most
