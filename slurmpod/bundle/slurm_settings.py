"""The `slurm` section in Slurm's own words, for the steps that apply it on the controller.

Names are those of slurm.conf(5), scontrol(1) and sacctmgr(1). Values are written as Slurm shows
them, so that a step can compare current and wanted values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from slurmpod.environment.slurm import Slurm
from slurmpod.environment.slurm_limits import Account, Partition, Qos
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import (
    NORMAL,
    ROOT,
    billing_weights,
    enforces_limits,
    has_gpus,
    needs_accounts,
    says_who_may_have_what,
)
from slurmpod_lifecycle import settings

DEFAULT_ACCOUNT = "default"
"""The account of all users if the environment names no accounts."""

NEEDED_BY_AUTO_RESUME = "permit_job_expansion"
"""What HyperPod writes into SchedulerParameters; a value of the user's replaces the whole line."""


@dataclass(frozen=True)
class WholeAccount:
    """An account, with the values inherited from its parent, as Slurm shows it."""

    name: str
    parent: str
    description: str
    shares: int
    qos: tuple[str, ...]
    default_qos: str
    total_resources: Mapping[str, int]


def slurm_settings(resolved: Resolved) -> settings.SlurmSettings:
    """Return the Slurm settings for nodes."""
    slurm = resolved.slurm
    partitions = {each.name: _partition(each) for each in slurm.partitions}
    for name, weights in billing_weights(resolved).items():
        partitions.setdefault(name, {})["TRESBillingWeights"] = _weighted(weights)
    return settings.SlurmSettings(
        configuration=_configuration(resolved),
        partitions={name: options for name, options in partitions.items() if options},
        qos={each.name: _qos(each) for each in slurm.qos} if slurm.accounting else {},
        accounts=tuple(_account(each) for each in slurm_accounts(resolved)),
    )


def slurm_accounts(resolved: Resolved) -> list[WholeAccount]:
    """Return the accounts, parents first; none if no user needs one."""
    slurm = resolved.slurm
    if not needs_accounts(resolved):
        return []
    if not slurm.accounts:
        return [_account_of_everybody(slurm)]
    by_name = {account.name: account for account in slurm.accounts}
    ordered = sorted(slurm.accounts, key=lambda account: len(_way_up(account, by_name)))
    return [_whole_account(account, by_name) for account in ordered]


def _configuration(resolved: Resolved) -> dict[str, str]:
    """Return the parameters of slurm.conf; the user's own override derived ones."""
    slurm = resolved.slurm
    ours: dict[str, str] = {}
    if slurm.accounting and has_gpus(resolved):
        ours["AccountingStorageTRES"] = "gres/gpu"
    if enforces_limits(resolved):
        ours["AccountingStorageEnforce"] = "associations,limits,qos"
    if says_who_may_have_what(resolved):
        ours["EnforcePartLimits"] = "ALL"
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


def _weighted(weights: Mapping[str, str]) -> str:
    """Format weights as Slurm shows them: as they are given."""
    return ",".join(f"{name}={weight}" for name, weight in sorted(weights.items()))


def _qos(qos: Qos) -> dict[str, settings.Value]:
    """Return every option that the YAML can set; unset ones too, because that removes a limit."""
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


def _account_of_everybody(slurm: Slurm) -> WholeAccount:
    names = {NORMAL, *(each.name for each in slurm.qos)}
    return WholeAccount(DEFAULT_ACCOUNT, ROOT, "", 1, tuple(sorted(names)), NORMAL, {})


def _whole_account(account: Account, by_name: Mapping[str, Account]) -> WholeAccount:
    way_up = _way_up(account, by_name)
    qos = next((each.qos for each in way_up if each.qos), (NORMAL,))
    defaults = [each.default_qos for each in way_up if each.default_qos in qos]
    default = defaults[0] if defaults else NORMAL if NORMAL in qos else qos[0]
    return WholeAccount(
        name=account.name,
        parent=account.parent or ROOT,
        description=account.description,
        shares=account.shares,
        qos=tuple(sorted(qos)),
        default_qos=default or "",
        total_resources=account.total_resources,
    )


def _way_up(account: Account, by_name: Mapping[str, Account]) -> list[Account]:
    """Return the account and its ancestors; stops at an unknown or repeated name."""
    way: list[Account] = []
    while account not in way:
        way.append(account)
        account = by_name.get(account.parent or ROOT, account)
    return way


def _account(account: WholeAccount) -> settings.Account:
    return settings.Account(
        account.name,
        account.description or account.name,
        {
            "Parent": account.parent,
            "Fairshare": str(account.shares),
            "QOS": account.qos,
            "DefaultQOS": account.default_qos,
            "GrpTRES": account.total_resources,
        },
    )


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _time(limit: str | None) -> str | None:
    """Format a time as Slurm shows it: whole minutes, rounded up, as days-hours:minutes."""
    if limit is None or limit == "UNLIMITED":
        return limit
    days, hours, minutes, seconds = map(int, re.findall(r"\d+", f"{_days(limit)}{limit}"))
    total = days * 1440 + hours * 60 + minutes + (seconds > 0)
    days, hours, minutes = total // 1440, total // 60 % 24, total % 60
    return f"{days}-{hours:02}:{minutes:02}:00" if days else f"{hours:02}:{minutes:02}:00"


def _days(limit: str) -> str:
    return "" if "-" in limit else "0-"
