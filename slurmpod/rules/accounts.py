"""Rules for qualities of service and accounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slurmpod.environment.slurm_limits import Account
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import NORMAL, ROOT
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.shared_findings import listed_twice
from slurmpod.rules.sources import ACCOUNTING, FAIR_TREE, QOS_GUIDE, RESOURCE_LIMITS, SACCTMGR

QUALITIES = Area("QOS", "Qualities of service", reads=("slurm",))

PREEMPTION = "https://slurm.schedmd.com/preempt.html"
MULTIFACTOR = "https://slurm.schedmd.com/priority_multifactor.html"


@QUALITIES.rule(
    "QOS-001",
    "Every QOS is listed once",
    why="The later entry would override the earlier one.",
    fix="merge the two entries",
    source=SACCTMGR,
)
def _qos_listed_once(resolved: Resolved) -> Iterator[Finding]:
    return listed_twice(resolved.slurm.qos, "slurm", "qos")


@QUALITIES.rule(
    "QOS-002",
    "Every QOS that is named is defined",
    why="Slurm refuses an unknown QOS, or ignores it silently in a list of a partition.",
    fix="define it under slurm.qos, or name one that is there; 'normal' always is",
    source=QOS_GUIDE,
)
def _named_qos_is_defined(resolved: Resolved) -> Iterator[Finding]:
    defined = {NORMAL, *(qos.name for qos in resolved.slurm.qos)}
    for path, name in _named(resolved):
        if name not in defined:
            yield Finding(path, f"there is no QOS '{name}'", did_you_mean(name, defined))


@QUALITIES.rule(
    "QOS-003",
    "No QOS preempts itself, directly or indirectly",
    why="Jobs would preempt each other forever; sacctmgr refuses it.",
    fix="remove one of the names under 'preempts'",
    source=PREEMPTION,
)
def _no_loops_of_preemption(resolved: Resolved) -> Iterator[Finding]:
    preempts = {qos.name: qos.preempts for qos in resolved.slurm.qos}
    for index, qos in enumerate(resolved.slurm.qos):
        for number, name in enumerate(qos.preempts):
            if qos.name in _reached(name, preempts):
                way = "itself" if name == qos.name else f"'{name}', which preempts it in turn"
                path = ("slurm", "qos", index, "preempts", number)
                yield Finding(path, f"'{qos.name}' preempts {way}")


@QUALITIES.rule(
    "QOS-004",
    "Only a QOS that is preempted has a preemption mode",
    why="preempt_mode says what happens to preempted jobs of this QOS. No other QOS preempts it.",
    fix="name this QOS under 'preempts' of another one, or remove the key",
    source=PREEMPTION,
    severity=Severity.WARNING,
)
def _preempt_mode_has_a_use(resolved: Resolved) -> Iterator[Finding]:
    preempted = {name for qos in resolved.slurm.qos for name in qos.preempts}
    for index, qos in enumerate(resolved.slurm.qos):
        if qos.preempt_mode and qos.name not in preempted:
            message = f"no QOS preempts '{qos.name}'"
            yield Finding(("slurm", "qos", index, "preempt_mode"), message, at_key=True)


@QUALITIES.rule(
    "QOS-005",
    "Priorities of QOS have a weight",
    why="The priority of a QOS counts only as much as fair_share.qos_weight lets it.",
    fix="add a section fair_share with a qos_weight above 0, or remove the priority",
    source=MULTIFACTOR,
    severity=Severity.WARNING,
)
def _priority_has_a_weight(resolved: Resolved) -> Iterator[Finding]:
    share = resolved.slurm.fair_share
    if share and share.qos_weight:
        return
    for index, qos in enumerate(resolved.slurm.qos):
        if qos.priority:
            message = f"the priority of '{qos.name}' counts for nothing"
            yield Finding(("slurm", "qos", index, "priority"), message, at_key=True)


@QUALITIES.rule(
    "QOS-006",
    "Every QOS can be used",
    why="A job may only name a QOS of its account. The QOS of a partition does not count: it "
    "belongs to the partition, not to the job.",
    fix="add it to 'qos' of an account, or remove it",
    source=QOS_GUIDE,
    severity=Severity.WARNING,
)
def _somebody_can_use_it(resolved: Resolved) -> Iterator[Finding]:
    accounts = resolved.slurm.accounts
    if not accounts:
        return
    used = {name for account in accounts for name in account.qos}
    used |= {partition.qos for partition in resolved.slurm.partitions if partition.qos}
    for index, qos in enumerate(resolved.slurm.qos):
        if qos.name not in {NORMAL, *used}:
            yield Finding(("slurm", "qos", index, "name"), f"no account has '{qos.name}'")


def _named(resolved: Resolved) -> Iterator[tuple[YamlPath, str]]:
    """Yield the path of every named QOS."""
    slurm = resolved.slurm
    for index, partition in enumerate(slurm.partitions):
        place: YamlPath = ("slurm", "partitions", index)
        if partition.qos:
            yield (*place, "qos"), partition.qos
        yield from _each((*place, "allowed_qos"), partition.allowed_qos)
    for index, qos in enumerate(slurm.qos):
        yield from _each(("slurm", "qos", index, "preempts"), qos.preempts)
    for index, account in enumerate(slurm.accounts):
        place = ("slurm", "accounts", index)
        yield from _each((*place, "qos"), account.qos)
        if account.default_qos:
            yield (*place, "default_qos"), account.default_qos


def _each(path: YamlPath, names: tuple[str, ...]) -> Iterator[tuple[YamlPath, str]]:
    for number, name in enumerate(names):
        yield (*path, number), name


def _reached(start: str, preempts: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return a QOS and all that it preempts, directly or through others."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += preempts.get(name, ())
    return found


ACCOUNTS = Area("ACC", "Accounts", reads=("slurm",))


@ACCOUNTS.rule(
    "ACC-001",
    "Keys that need accounting have it",
    why="QOS, accounts and shares live in the accounting database.",
    fix="remove 'accounting: false', or remove the key",
    source=ACCOUNTING,
)
def _accounting_is_on(resolved: Resolved) -> Iterator[Finding]:
    slurm = resolved.slurm
    if slurm.accounting:
        return
    for key in ("qos", "accounts", "fair_share"):
        if getattr(slurm, key):
            yield Finding(("slurm", key), f"{key} needs accounting, which is off", at_key=True)
    for index, partition in enumerate(slurm.partitions):
        for key in ("qos", "allowed_qos", "allowed_accounts"):
            if getattr(partition, key):
                path = ("slurm", "partitions", index, key)
                yield Finding(path, f"{key} needs accounting, which is off", at_key=True)


@ACCOUNTS.rule(
    "ACC-002",
    "Every account is listed once",
    why="The later entry would override the earlier one.",
    fix="merge the two entries",
    source=SACCTMGR,
)
def _accounts_listed_once(resolved: Resolved) -> Iterator[Finding]:
    return listed_twice(resolved.slurm.accounts, "slurm", "accounts")


@ACCOUNTS.rule(
    "ACC-003",
    "The account 'root' is left to Slurm",
    why="Slurm creates it as the root of all accounts, for administrators.",
    fix="choose another name",
    source=ACCOUNTING,
)
def _root_is_slurms(resolved: Resolved) -> Iterator[Finding]:
    for path, account in _accounts(resolved):
        if account.name == ROOT:
            yield Finding((*path, "name"), "'root' is Slurm's own account")


@ACCOUNTS.rule(
    "ACC-004",
    "Every account that is named is defined",
    why="Slurm refuses an unknown account, or ignores it silently in a list of a partition.",
    fix="define it under slurm.accounts, or name one that is there",
    source=SACCTMGR,
)
def _named_account_is_defined(resolved: Resolved) -> Iterator[Finding]:
    defined = {ROOT, *(account.name for account in resolved.slurm.accounts)}
    for path, account in _accounts(resolved):
        if account.parent and account.parent not in defined:
            yield _undefined((*path, "parent"), account.parent, defined)
    for index, partition in enumerate(resolved.slurm.partitions):
        for number, name in enumerate(partition.allowed_accounts):
            if name not in defined:
                path = ("slurm", "partitions", index, "allowed_accounts", number)
                yield _undefined(path, name, defined)


@ACCOUNTS.rule(
    "ACC-005",
    "No account is its own ancestor",
    why="Accounts are a tree with 'root' on top.",
    fix="give one of the accounts another parent, or none",
    source=ACCOUNTING,
)
def _no_loops_of_accounts(resolved: Resolved) -> Iterator[Finding]:
    parents = {account.name: account.parent for account in resolved.slurm.accounts}
    for path, account in _accounts(resolved):
        above, seen = account.parent, set[str]()
        while above and above not in seen and above != account.name:
            seen.add(above)
            above = parents.get(above)
        if above == account.name:
            yield Finding((*path, "parent"), f"'{account.name}' would be its own ancestor")


@ACCOUNTS.rule(
    "ACC-006",
    "The default QOS of an account is one that it has",
    why="sacctmgr refuses another one: jobs could not use it.",
    fix="add it to 'qos' of the account, or name one of those",
    source=SACCTMGR,
)
def _default_qos_is_usable(resolved: Resolved) -> Iterator[Finding]:
    by_name = {account.name: account for account in resolved.slurm.accounts}
    for path, account in _accounts(resolved):
        usable = _qos_of(account, by_name)
        if account.default_qos and account.default_qos not in usable:
            message = f"'{account.name}' has {', '.join(usable)}, not '{account.default_qos}'"
            yield Finding((*path, "default_qos"), message)


@ACCOUNTS.rule(
    "ACC-007",
    "Shares count for something",
    why="Shares say how much of the cluster an account is due. Without fair_share, jobs start in "
    "the order in which they came.",
    fix="add a section fair_share, or remove the shares",
    source=FAIR_TREE,
    severity=Severity.WARNING,
)
def _shares_count(resolved: Resolved) -> Iterator[Finding]:
    share = resolved.slurm.fair_share
    if share and share.fair_share_weight:
        return
    for path, account in _accounts(resolved):
        if account.shares != 1:
            message = f"the {account.shares} shares of '{account.name}' count for nothing"
            yield Finding((*path, "shares"), message, at_key=True)


@ACCOUNTS.rule(
    "ACC-008",
    "An account is not limited to more than the account above it",
    why="What an account uses counts for those above it too: their lower limit already holds.",
    fix="lower the limit, or raise that of the account above",
    source=RESOURCE_LIMITS,
    severity=Severity.WARNING,
)
def _limits_are_nested(resolved: Resolved) -> Iterator[Finding]:
    by_name = {account.name: account for account in resolved.slurm.accounts}
    for path, account in _accounts(resolved):
        above = by_name.get(account.parent or ROOT)
        for name, amount in account.total_resources.items() if above else ():
            limit = above.total_resources.get(name, amount) if above else amount
            if amount > limit:
                message = f"'{account.parent}' has {limit} of {name}, fewer than {amount}"
                yield Finding((*path, "total_resources", name), message)


def _accounts(resolved: Resolved) -> Iterator[tuple[YamlPath, Account]]:
    for index, account in enumerate(resolved.slurm.accounts):
        yield ("slurm", "accounts", index), account


def _undefined(path: YamlPath, name: str, defined: set[str]) -> Finding:
    return Finding(path, f"there is no account '{name}'", did_you_mean(name, defined))


def _qos_of(account: Account, by_name: dict[str, Account]) -> tuple[str, ...]:
    """Return the QOS of an account: its own, or those of the nearest above that names some."""
    seen: set[str] = set()
    current: Account | None = account
    while current and current.name not in seen:
        if current.qos:
            return current.qos
        seen.add(current.name)
        current = by_name.get(current.parent or ROOT)
    return (NORMAL,)
