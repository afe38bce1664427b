"""Rules for what users have in Slurm: accounts, QOS and shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve.slurm import NORMAL, ROOT
from slurmpod.rules.people_places import at_user
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import ACCOUNTING, FAIR_TREE, QOS_GUIDE, SACCTMGR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

ACCOUNTS_OF_USERS = Area("UAC", "Accounts of users")


@ACCOUNTS_OF_USERS.rule(
    "UAC-001",
    "Every account of a user is defined",
    why="Slurm refuses to put anybody into an account that is not there.",
    fix="define it under slurm.accounts, or name one that is there",
    source=SACCTMGR,
)
def _accounts_are_defined(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    defined = {ROOT, *(account.name for account in environment.slurm.accounts)}
    for known in resolved.access.users:
        for number, name in enumerate(known.user.accounts):
            if name not in defined:
                hint = did_you_mean(name, defined)
                message = f"there is no account '{name}'"
                yield at_user(known, message, "accounts", number, fix=hint)


@ACCOUNTS_OF_USERS.rule(
    "UAC-002",
    "The default account of a user is one that the user has",
    why="sacctmgr refuses another one: jobs that name no account could not run.",
    fix="add it to 'accounts' of the user, or name one of those",
    source=SACCTMGR,
)
def _default_account_is_usable(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    every = tuple(account.name for account in environment.slurm.accounts)
    for known in resolved.access.users:
        default, usable = known.user.default_account, known.user.accounts or every
        if default and default not in usable:
            has = ", ".join(usable) or "no account"
            message = f"'{known.user.name}' has {has}, not '{default}'"
            yield at_user(known, message, "default_account")


@ACCOUNTS_OF_USERS.rule(
    "UAC-003",
    "Every QOS of a user is defined",
    why="Slurm refuses to give anybody a QOS that is not there.",
    fix="define it under slurm.qos, or name one that is there; 'normal' always is",
    source=QOS_GUIDE,
)
def _qos_are_defined(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    defined = {NORMAL, *(qos.name for qos in environment.slurm.qos)}
    for known in resolved.access.users:
        for number, name in enumerate(known.user.qos):
            if name not in defined:
                hint = did_you_mean(name, defined)
                yield at_user(known, f"there is no QOS '{name}'", "qos", number, fix=hint)


@ACCOUNTS_OF_USERS.rule(
    "UAC-004",
    "Accounts and QOS of users have accounting",
    why="They live in the accounting database, as shares do.",
    fix="remove 'accounting: false' under slurm, or remove the key",
    source=ACCOUNTING,
)
def _accounting_is_on(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if environment.slurm.accounting:
        return
    for known in resolved.access.users:
        for key in ("accounts", "default_account", "qos"):
            if getattr(known.user, key):
                message = f"{key} needs accounting, which is off"
                yield at_user(known, message, key, at_key=True)


@ACCOUNTS_OF_USERS.rule(
    "UAC-005",
    "Shares of users count for something",
    why="Shares say how much of an account a user is due. Without fair_share, jobs start in the "
    "order in which they came.",
    fix="add a section fair_share under slurm, or remove the shares",
    source=FAIR_TREE,
    severity=Severity.WARNING,
)
def _shares_count(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    slurm = environment.slurm
    if slurm.accounting and slurm.fair_share and slurm.fair_share.fair_share_weight:
        return
    for known in resolved.access.users:
        if known.user.shares != 1:
            message = f"the {known.user.shares} shares of '{known.user.name}' count for nothing"
            yield at_user(known, message, "shares", at_key=True)
