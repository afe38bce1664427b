"""The `slurm` section in Slurm's own words, for the steps that put it in force on the controller.

Names are those of slurm.conf(5), scontrol(1) and sacctmgr(1). Values are written as Slurm shows
them, so that a step can compare what is with what should be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from slurmpod.environment.slurm import Slurm
from slurmpod.environment.slurm_limits import Account, Partition, Qos
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import NORMAL, ROOT, enforces_limits, has_gpus, needs_accounts

DEFAULT_ACCOUNT = "default"
"""Where everybody is while the environment names no accounts."""

NEEDED_BY_AUTO_RESUME = "permit_job_expansion"
"""What HyperPod writes into SchedulerParameters; a value of the user's replaces the whole line."""


def slurm_values(resolved: Resolved) -> dict[str, object]:
    """Return the `slurm` part of settings.json as plain data."""
    slurm = resolved.slurm
    partitions = {each.name: _partition(each) for each in slurm.partitions}
    return {
        "configuration": _configuration(resolved),
        "partitions": {name: options for name, options in partitions.items() if options},
        "qos": {each.name: _qos(each) for each in slurm.qos} if slurm.accounting else {},
        "accounts": slurm_accounts(resolved),
    }


def slurm_accounts(resolved: Resolved) -> list[dict[str, Any]]:
    """Return the accounts, each after the one above it; none where nobody needs one."""
    return _accounts(resolved.slurm) if needs_accounts(resolved) else []


def _configuration(resolved: Resolved) -> dict[str, str]:
    """Return the parameters of slurm.conf; what the user sets wins over what follows from YAML."""
    slurm = resolved.slurm
    ours: dict[str, str] = {}
    if slurm.accounting and has_gpus(resolved):
        ours["AccountingStorageTRES"] = "gres/gpu"
    if enforces_limits(resolved):
        ours["AccountingStorageEnforce"] = "associations,limits,qos"
    if any(each.preempts for each in slurm.qos):
        ours |= {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"}
    given = {
        name: _with_auto_resume(value) if name.lower() == "schedulerparameters" else value
        for name, value in slurm.settings.items()
    }
    taken = {name.lower() for name in given}
    kept = {name: value for name, value in ours.items() if name.lower() not in taken}
    return {**kept, **_weights(slurm), **given}


def _with_auto_resume(value: str) -> str:
    words = value.split(",")
    return value if NEEDED_BY_AUTO_RESUME in words else ",".join([*words, NEEDED_BY_AUTO_RESUME])


def _weights(slurm: Slurm) -> dict[str, str]:
    share = slurm.fair_share
    if share is None:
        return {}
    return {
        "PriorityType": "priority/multifactor",
        "PriorityDecayHalfLife": f"{share.half_life_days}-00:00:00",
        "PriorityWeightAge": str(share.age_weight),
        "PriorityWeightFairshare": str(share.fair_share_weight),
        "PriorityWeightJobSize": str(share.job_size_weight),
        "PriorityWeightPartition": str(share.partition_weight),
        "PriorityWeightQOS": str(share.qos_weight),
    }


def _partition(partition: Partition) -> dict[str, str]:
    options = {
        "Default": "YES" if partition.default else None,
        "MaxTime": _time(partition.max_time),
        "DefaultTime": _time(partition.default_time),
        "MaxNodes": _text(partition.max_nodes),
        "PriorityTier": _text(partition.priority_tier),
        "QoS": partition.qos,
        "AllowAccounts": ",".join(partition.allowed_accounts) or None,
        "AllowQos": ",".join(partition.allowed_qos) or None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _qos(qos: Qos) -> dict[str, object]:
    """Return every option that the YAML can set, also where it sets none: that removes a limit."""
    max_time = _time(qos.max_time)
    return {
        "Priority": str(qos.priority),
        "MaxWall": "" if max_time in {None, "UNLIMITED"} else max_time,
        "MaxJobsPerUser": _text(qos.max_jobs_per_user) or "",
        "MaxSubmitJobsPerUser": _text(qos.max_submitted_jobs_per_user) or "",
        "MaxTRESPerJob": qos.max_resources_per_job,
        "MaxTRESPerUser": qos.max_resources_per_user,
        "GrpTRES": qos.total_resources,
        "Preempt": sorted(qos.preempts),
        "PreemptMode": qos.preempt_mode or "cluster",
    }


def _accounts(slurm: Slurm) -> list[dict[str, Any]]:
    if not slurm.accounts:
        every_qos = [NORMAL, *(each.name for each in slurm.qos if each.name != NORMAL)]
        return [_account(DEFAULT_ACCOUNT, ROOT, "", 1, every_qos, NORMAL, {})]
    by_name = {account.name: account for account in slurm.accounts}
    ordered = sorted(slurm.accounts, key=lambda account: len(_way_up(account, by_name)))
    return [_named_account(account, by_name) for account in ordered]


def _named_account(account: Account, by_name: Mapping[str, Account]) -> dict[str, Any]:
    """Write down what an account has from the one above it too, as Slurm shows it."""
    way_up = _way_up(account, by_name)
    qos = next((each.qos for each in way_up if each.qos), (NORMAL,))
    defaults = [each.default_qos for each in way_up if each.default_qos in qos]
    default = defaults[0] if defaults else NORMAL if NORMAL in qos else qos[0]
    return _account(
        account.name,
        account.parent or ROOT,
        account.description,
        account.shares,
        qos,
        default,
        account.total_resources,
    )


def _way_up(account: Account, by_name: Mapping[str, Account]) -> list[Account]:
    """Return the account and those above it; ends where a name is unknown or comes again."""
    way: list[Account] = []
    while account not in way:
        way.append(account)
        account = by_name.get(account.parent or ROOT, account)
    return way


def _account(
    name: str,
    parent: str,
    description: str,
    shares: int,
    qos: Sequence[str],
    default_qos: str | None,
    total_resources: Mapping[str, int],
) -> dict[str, Any]:
    return {
        "name": name,
        "description": description or name,
        "options": {
            "Parent": parent,
            "Fairshare": str(shares),
            "QOS": sorted(qos),
            "DefaultQOS": default_qos or "",
            "GrpTRES": dict(total_resources),
        },
    }


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _time(limit: str | None) -> str | None:
    """Write a time as Slurm shows it: whole minutes, rounded up, days apart from hours."""
    if limit is None or limit == "UNLIMITED":
        return limit
    days, hours, minutes, seconds = map(int, re.findall(r"\d+", f"{_days(limit)}{limit}"))
    total = days * 1440 + hours * 60 + minutes + (seconds > 0)
    days, hours, minutes = total // 1440, total // 60 % 24, total % 60
    return f"{days}-{hours:02}:{minutes:02}:00" if days else f"{hours:02}:{minutes:02}:00"


def _days(limit: str) -> str:
    return "" if "-" in limit else "0-"
