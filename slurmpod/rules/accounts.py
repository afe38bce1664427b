"""Rules for accounts, and for what rests on accounting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve.slurm import NORMAL, ROOT
from slurmpod.rules.listed_once import listed_twice
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import ACCOUNTING, FAIR_TREE, RESOURCE_LIMITS, SACCTMGR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.model.slurm_limits import Account
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

ACCOUNTS = Area("ACC", "Accounts")


@ACCOUNTS.rule(
    "ACC-001",
    "What rests on accounting has accounting",
    why="QOS, accounts and shares live in the accounting database.",
    fix="remove 'accounting: false', or remove the key",
    source=ACCOUNTING,
)
def _accounting_is_on(environment: Environment, _: Resolved) -> Iterator[Finding]:
    slurm = environment.slurm
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
    why="The later entry would take back what the earlier one says.",
    fix="merge the two entries",
    source=SACCTMGR,
)
def _listed_once(environment: Environment, _: Resolved) -> Iterator[Finding]:
    return listed_twice(environment.slurm.accounts, "slurm", "accounts")


@ACCOUNTS.rule(
    "ACC-003",
    "The account 'root' is left to Slurm",
    why="Slurm makes it itself, above all others; it belongs to administrators.",
    fix="choose another name",
    source=ACCOUNTING,
)
def _root_is_slurms(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, account in _accounts(environment):
        if account.name == ROOT:
            yield Finding((*path, "name"), "'root' is Slurm's own account")


@ACCOUNTS.rule(
    "ACC-004",
    "Every account that is named is defined",
    why="Slurm refuses an unknown account, or ignores it silently in a list of a partition.",
    fix="define it under slurm.accounts, or name one that is there",
    source=SACCTMGR,
)
def _named_is_defined(environment: Environment, _: Resolved) -> Iterator[Finding]:
    defined = {ROOT, *(account.name for account in environment.slurm.accounts)}
    for path, account in _accounts(environment):
        if account.parent and account.parent not in defined:
            yield _undefined((*path, "parent"), account.parent, defined)
    for index, partition in enumerate(environment.slurm.partitions):
        for number, name in enumerate(partition.allowed_accounts):
            if name not in defined:
                path = ("slurm", "partitions", index, "allowed_accounts", number)
                yield _undefined(path, name, defined)


@ACCOUNTS.rule(
    "ACC-005",
    "No account is above itself",
    why="Accounts are a tree with 'root' on top.",
    fix="give one of the accounts another parent, or none",
    source=ACCOUNTING,
)
def _no_loops(environment: Environment, _: Resolved) -> Iterator[Finding]:
    parents = {account.name: account.parent for account in environment.slurm.accounts}
    for path, account in _accounts(environment):
        above, seen = account.parent, set[str]()
        while above and above not in seen and above != account.name:
            seen.add(above)
            above = parents.get(above)
        if above == account.name:
            yield Finding((*path, "parent"), f"'{account.name}' would be above itself")


@ACCOUNTS.rule(
    "ACC-006",
    "The default QOS of an account is one that it has",
    why="sacctmgr refuses another one: jobs could not use it.",
    fix="add it to 'qos' of the account, or name one of those",
    source=SACCTMGR,
)
def _default_qos_is_usable(environment: Environment, _: Resolved) -> Iterator[Finding]:
    by_name = {account.name: account for account in environment.slurm.accounts}
    for path, account in _accounts(environment):
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
def _shares_count(environment: Environment, _: Resolved) -> Iterator[Finding]:
    share = environment.slurm.fair_share
    if share and share.fair_share_weight:
        return
    for path, account in _accounts(environment):
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
def _limits_are_nested(environment: Environment, _: Resolved) -> Iterator[Finding]:
    by_name = {account.name: account for account in environment.slurm.accounts}
    for path, account in _accounts(environment):
        above = by_name.get(account.parent or ROOT)
        for name, amount in account.total_resources.items() if above else ():
            limit = above.total_resources.get(name, amount) if above else amount
            if amount > limit:
                message = f"'{account.parent}' has {limit} of {name}, fewer than {amount}"
                yield Finding((*path, "total_resources", name), message)


def _accounts(environment: Environment) -> Iterator[tuple[YamlPath, Account]]:
    for index, account in enumerate(environment.slurm.accounts):
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
