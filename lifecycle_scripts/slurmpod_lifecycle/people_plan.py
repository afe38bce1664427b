"""The environment's users in Slurm's accounting database: accounts, shares, QOS, administrators.

Pure. Nothing is removed: job records keep their owners. An account that a user no longer has, and
all accounts of somebody who left, take no more jobs of theirs; jobs that are there go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from slurmpod_lifecycle.sacctmgr import NO_LIMIT, Row, changes
from slurmpod_lifecycle.settings import Account, User

SUBMIT_LIMIT = "MaxSubmitJobs"
NO_JOBS = "0"
COLUMNS = ("User", "DefaultAccount", "AdminLevel")
ADMINISTRATOR = "Administrator"

Change = tuple[str, ...]
"""The arguments of one sacctmgr command."""


def people_plan(
    users: Sequence[User],
    former: Set[str],
    accounts: Sequence[Account],
    shown: Sequence[Row],
    entries: Sequence[Row],
    here: str,
) -> list[Change]:
    """Return what makes the users as wanted; `former` are those who left.

    `shown` are the associations there are, `entries` the users as a whole.
    """
    by_user = {row["User"]: row for row in entries}
    fresh = {account.name: _fresh(account) for account in accounts}
    plan: list[Change] = []
    for user in users:
        rows = {row["Account"]: row for row in shown if row["User"] == user.name}
        entry = by_user.get(user.name, {})
        plan += [*_joins(user, rows, here), *_options(user, rows, fresh, here)]
        plan += [*_barred(user, rows, fresh, here), *_whole(user, rows, entry, here)]
    for name in sorted(former & set(by_user)):
        rows = {row["Account"]: row for row in shown if row["User"] == name}
        plan += [_bar(name, account, here) for account, row in rows.items() if _is_open(row)]
        if by_user[name]["AdminLevel"] == ADMINISTRATOR:
            plan.append(("modify", "user", "where", f"name={name}", "set", "AdminLevel=None"))
    return plan


def _fresh(account: Account) -> Row:
    """Return how sacctmgr shows a user who has just been put into an account."""
    qos, default = account.options.get("QOS", ()), account.options.get("DefaultQOS", "")
    return {"Fairshare": "1", "QOS": ",".join(qos), "DefaultQOS": str(default)}


def _joins(user: User, rows: dict[str, Row], here: str) -> Iterator[Change]:
    lacking = [each.account for each in user.associations if each.account not in rows]
    if lacking:
        first = () if rows else (f"DefaultAccount={lacking[0]}",)
        yield "add", "user", user.name, here, f"Account={','.join(lacking)}", *first


def _options(
    user: User, rows: dict[str, Row], fresh: dict[str, Row], here: str
) -> Iterator[Change]:
    for association in user.associations:
        row = rows.get(association.account) or fresh.get(association.account, {})
        found = changes(association.options, row)
        if row.get(SUBMIT_LIMIT) == NO_JOBS:
            found.append(f"{SUBMIT_LIMIT}={NO_LIMIT}")
        if found:
            yield _modify(user.name, association.account, here, *found)


def _barred(user: User, rows: dict[str, Row], known: dict[str, Row], here: str) -> Iterator[Change]:
    """Close the environment's accounts that the user does not have; those made by hand stay."""
    wanted = {association.account for association in user.associations}
    for account, row in rows.items():
        if account in known and account not in wanted and _is_open(row):
            yield _bar(user.name, account, here)


def _whole(user: User, rows: dict[str, Row], entry: Row, here: str) -> Iterator[Change]:
    """Set what is a user's in all accounts."""
    default = user.associations[0].account if user.associations else ""
    if rows and default and entry.get("DefaultAccount") != default:
        yield (
            "modify",
            "user",
            "where",
            f"name={user.name}",
            here,
            "set",
            f"DefaultAccount={default}",
        )
    is_admin = entry.get("AdminLevel") == ADMINISTRATOR
    if user.admin != is_admin:
        level = ADMINISTRATOR if user.admin else "None"
        yield "modify", "user", "where", f"name={user.name}", "set", f"AdminLevel={level}"


def _is_open(row: Row) -> bool:
    return row.get(SUBMIT_LIMIT) != NO_JOBS


def _bar(name: str, account: str, here: str) -> Change:
    return _modify(name, account, here, f"{SUBMIT_LIMIT}={NO_JOBS}")


def _modify(name: str, account: str, here: str, *options: str) -> Change:
    return "modify", "user", "where", f"name={name}", f"account={account}", here, "set", *options
