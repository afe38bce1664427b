"""Consequences of the `slurm` section for several readers: enforcement, accounts, GPUs."""

from __future__ import annotations

from slurmpod.environment.cluster import Role
from slurmpod.environment.slurm import Slurm
from slurmpod.resolve.resolved import Resolved

NORMAL = "normal"
"""The QOS that Slurm makes itself and that the account `root` has."""

ROOT = "root"
"""The account that Slurm makes itself, above all others."""


def limits_jobs(slurm: Slurm) -> bool:
    """Tell whether something is configured that Slurm ignores unless limits are enforced.

    Enforcement lets nobody run jobs who is in no account (slurm.conf(5), AccountingStorageEnforce),
    so it is on only where it is needed. Shares and weights do without.
    """
    return bool(
        slurm.qos
        or any(account.qos or account.total_resources for account in slurm.accounts)
        or any(each.qos or each.allowed_qos or each.allowed_accounts for each in slurm.partitions)
    )


def enforces_limits(resolved: Resolved) -> bool:
    """Tell whether jobs are limited, or users by what accounts and QOS they have."""
    users = (known.user for known in resolved.access.users)
    limits_users = any(user.accounts or user.qos for user in users)
    return resolved.slurm.accounting and (limits_jobs(resolved.slurm) or limits_users)


def needs_accounts(resolved: Resolved) -> bool:
    """Tell whether users have to be in an account: for limits, a fair share, or their own sake."""
    slurm = resolved.slurm
    is_for_all = limits_jobs(slurm) or slurm.accounts or slurm.fair_share
    return bool(slurm.accounting and (is_for_all or resolved.access.users))


def has_gpus(resolved: Resolved) -> bool:
    """Tell whether some worker has GPUs, or may get some, which Slurm then counts as gres/gpu."""
    workers = resolved.groups_with(Role.WORKER)
    known = (facts for each in workers for facts in each.facts_of_types if facts)
    return any(facts.accelerator_kind == "gpu" for facts in known)
