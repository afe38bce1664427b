"""Rules for users in Slurm, and for their homes."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import NORMAL, ROOT
from slurmpod.rules.file_systems import SCRATCH, Mount, all_mounts
from slurmpod.rules.people import at_user, has_people
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import ACCOUNTING, FAIR_TREE, QOS_GUIDE, SACCTMGR

ACCOUNTS_OF_USERS = Area("UAC", "Accounts of users", reads=("access", "slurm"))


@ACCOUNTS_OF_USERS.rule(
    "UAC-001",
    "Every account of a user is defined",
    why="Slurm refuses to add a user to an account that does not exist.",
    fix="define it under slurm.accounts, or name one that is there",
    source=SACCTMGR,
)
def _accounts_are_defined(resolved: Resolved) -> Iterator[Finding]:
    defined = {ROOT, *(account.name for account in resolved.slurm.accounts)}
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
def _default_account_is_usable(resolved: Resolved) -> Iterator[Finding]:
    every = tuple(account.name for account in resolved.slurm.accounts)
    for known in resolved.access.users:
        default, usable = known.user.default_account, known.user.accounts or every
        if default and default not in usable:
            has = ", ".join(usable) or "no account"
            message = f"'{known.user.name}' has {has}, not '{default}'"
            yield at_user(known, message, "default_account")


@ACCOUNTS_OF_USERS.rule(
    "UAC-003",
    "Every QOS of a user is defined",
    why="Slurm refuses to give a user a QOS that does not exist.",
    fix="define it under slurm.qos, or name one that is there; 'normal' always is",
    source=QOS_GUIDE,
)
def _qos_are_defined(resolved: Resolved) -> Iterator[Finding]:
    defined = {NORMAL, *(qos.name for qos in resolved.slurm.qos)}
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
def _accounting_is_on(resolved: Resolved) -> Iterator[Finding]:
    if resolved.slurm.accounting:
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
def _shares_count(resolved: Resolved) -> Iterator[Finding]:
    slurm = resolved.slurm
    if slurm.accounting and slurm.fair_share and slurm.fair_share.fair_share_weight:
        return
    for known in resolved.access.users:
        if known.user.shares != 1:
            message = f"the {known.user.shares} shares of '{known.user.name}' count for nothing"
            yield at_user(known, message, "shares", at_key=True)


HOMES = Area("HOM", "Home directories", reads=("access", "storage"))

PREREQUISITES = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites.html"
)
SEMANTICS = "https://github.com/awslabs/mountpoint-s3/blob/main/doc/SEMANTICS.md"


@HOMES.rule(
    "HOM-001",
    "Home directories are on a shared file system",
    why="A job runs on another node than the one from which it was submitted. With a home on each "
    "node's own disk it finds none of its files, and a replaced node has lost them.",
    fix="add a file system under storage, or name a folder below the one that is mounted",
    source=PREREQUISITES,
    severity=Severity.WARNING,
)
def _homes_are_shared(resolved: Resolved) -> Iterator[Finding]:
    access = resolved.environment.access
    if not has_people(resolved):
        return
    if access.home_directory is None and resolved.access.home_directory is None:
        key = next(key for key in ("users", "users_file", "directory") if getattr(access, key))
        yield Finding(("access", key), "their homes are on each node's own disk", at_key=True)
    elif access.home_directory:
        mount, path = _mount_of(resolved, access.home_directory), ("access", "home_directory")
        if mount is None:
            yield Finding(path, f"nothing is mounted at {access.home_directory} or above it")
        elif mount.section == SCRATCH:
            yield Finding(path, f"{access.home_directory} is on each node's own disks")


@HOMES.rule(
    "HOM-002",
    "Home directories are on no bucket",
    why="A mounted bucket has no owners and no permissions, and files in it cannot be changed.",
    fix="name a folder on an FSx file system",
    source=SEMANTICS,
)
def _homes_are_on_no_bucket(resolved: Resolved) -> Iterator[Finding]:
    folder = resolved.environment.access.home_directory
    mount = _mount_of(resolved, folder) if folder else None
    if mount and mount.section[1] == "s3_mounts":
        yield Finding(("access", "home_directory"), f"{folder} is in a mounted bucket")


def _mount_of(resolved: Resolved, folder: str) -> Mount | None:
    """Return the mount at a folder, or above it."""
    around = [
        mount for mount in all_mounts(resolved) if f"{folder}/".startswith(f"{mount.folder}/")
    ]
    return max(around, key=lambda mount: len(mount.folder), default=None)
