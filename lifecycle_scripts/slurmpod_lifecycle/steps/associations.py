"""QOS, accounts and their limits from the environment, in Slurm's accounting database.

Manual changes stay: options that the environment does not know, and QOS, accounts and users that it
does not name. With enforced limits only users with an account can run jobs, so all users that the
controller knows get accounts: the environment's users as configured (see `people_plan`), the
image's user all of them, and users without any account too.

Nothing is removed: job records keep their owners. An account that a user no longer has, and all
accounts of a former user, accept no more jobs of theirs; existing jobs continue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.directory import people_of
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.sacctmgr import NO_LIMIT, Row, changes, table
from slurmpod_lifecycle.settings import Account, Role, User, Value
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.steps.user_folder import USER
from slurmpod_lifecycle.steps.users import former_users

FIRST_UID, LAST_UID = 1000, 59_999
"""The ids of ordinary users of Debian and Ubuntu (Debian policy, 9.2.2)."""

QOS_OPTIONS = (
    "Priority",
    "MaxWall",
    "MaxJobsPerUser",
    "MaxSubmitJobsPerUser",
    "MaxTRESPerJob",
    "MaxTRESPerUser",
    "GrpTRES",
    "Preempt",
    "PreemptMode",
)
ACCOUNT_OPTIONS = ("ParentName", "Fairshare", "QOS", "DefaultQOS", "GrpTRES")
NEW_QOS: Row = {"Priority": "0", "PreemptMode": "cluster"}
"""sacctmgr's output for a new QOS."""

Change = tuple[str, ...]
"""The arguments of one sacctmgr command."""

SUBMIT_LIMIT = "MaxSubmitJobs"
NO_JOBS = "0"
PEOPLE_COLUMNS = ("User", "DefaultAccount", "AdminLevel")
ADMINISTRATOR = "Administrator"


class Associations(NodeStep):
    """The accounting database has the environment's QOS, accounts and limits."""

    name = "associations"
    roles = frozenset({Role.CONTROLLER})
    needs = ("slurmctld", "slurm_settings", "users", "sssd")

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is the controller of an environment with QOS or accounts."""
        wanted = node.settings.slurm
        return super().applies_to(node) and bool(wanted.qos or wanted.accounts)

    def is_done(self) -> bool:
        """Return whether nothing has to be changed."""
        return not self._plan()

    def apply(self) -> str:
        """Run the changes; raises NotYet while slurmctld has not registered its cluster."""
        plan = self._plan()
        for change in plan:
            slurm.command(self.node.machine, "sacctmgr", "--immediate", "--quiet", *change)
        return f"{len(plan)} changes to QOS, accounts and users"

    def _plan(self) -> list[Change]:
        machine, wanted, cluster = self.node.machine, self.node.settings.slurm, self._cluster()
        here = f"cluster={cluster}"
        plan = qos_plan(wanted.qos, table(machine, "qos", ("Name", *QOS_OPTIONS)))
        described = table(machine, "account", ("Account", "Description"))
        columns = ("Account", "User", *ACCOUNT_OPTIONS, SUBMIT_LIMIT)
        shown = table(machine, "associations", columns, "where", here)
        plan += account_plan(wanted.accounts, described, shown, here)
        users, former = self.node.settings.access.users, former_users(self.node)
        entries = table(machine, "user", PEOPLE_COLUMNS, "where", here)
        plan += people_plan(users, former, wanted.accounts, shown, entries, here)
        others = self._people() - former - {user.name for user in users}
        return plan + user_plan(wanted.accounts, sorted(others), shown, here)

    def _people(self) -> set[str]:
        """Return the users that the controller knows, and those that the directory allows."""
        machine, directory = self.node.machine, self.node.settings.access.directory
        people = set(ordinary_users(machine.run("getent", "passwd")))
        return (
            people | {name for name, *_ in people_of(machine, directory)} if directory else people
        )

    def _cluster(self) -> str:
        """Return the cluster's name in Slurm; raises NotYet until the database has it."""
        machine = self.node.machine
        names = slurm.values(machine.read(slurm.SLURM_CONF) or "", "ClusterName")
        known = [row["Cluster"] for row in table(machine, "cluster", ("Cluster",))]
        registered = [name for name in names if name.lower() in known]
        if registered:
            return registered[-1].lower()
        reason = "slurmctld has not registered the cluster in the accounting database"
        raise NotYet(reason, "look at /var/log/slurm/slurmdbd.log on the controller")


def qos_plan(wanted: Mapping[str, Mapping[str, Value]], shown: Sequence[Row]) -> list[Change]:
    """Return the commands for the QOS: all exist before one may preempt another."""
    by_name = {row["Name"]: row for row in shown}
    made = [("add", "qos", name) for name in sorted(wanted) if name not in by_name]
    plan: list[Change] = list(made)
    for name, options in sorted(wanted.items()):
        found = changes(options, by_name.get(name, NEW_QOS))
        plan += [("modify", "qos", name, "set", *found)] if found else []
    return plan


def account_plan(
    wanted: Sequence[Account], described: Sequence[Row], shown: Sequence[Row], here: str
) -> list[Change]:
    """Return the commands for the accounts; `wanted` has parents before their children."""
    descriptions = {row["Account"]: row["Description"] for row in described}
    by_name = {row["Account"]: row for row in shown if not row["User"]}
    plan: list[Change] = []
    for account in wanted:
        if account.name not in by_name:
            plan.append(("add", "account", account.name, here, f"Description={account.name}"))
        row = by_name.get(account.name, {"Fairshare": "1", "ParentName": "root"})
        found = changes(account.options, {**row, "Parent": row["ParentName"]})
        if descriptions.get(account.name, account.name) != _as_stored(account.description):
            found.append(f"Description={account.description}")
        if found:
            where = ("where", f"name={account.name}", here)
            plan.append(("modify", "account", *where, "set", *found))
    return plan


def _as_stored(description: str) -> str:
    """Return a description as sacctmgr stores it: ASCII letters in lower case, others unchanged."""
    return description.encode().lower().decode()


def user_plan(
    accounts: Sequence[Account], people: Sequence[str], shown: Sequence[Row], here: str
) -> list[Change]:
    """Return the commands that put the image's user, and users without any, into all accounts."""
    plan: list[Change] = []
    for person in people:
        has = {row["Account"] for row in shown if row["User"] == person}
        if has and person != USER:
            continue
        lacking = [account.name for account in accounts if account.name not in has]
        if lacking:
            names = f"Account={','.join(lacking)}"
            first = () if has else (f"DefaultAccount={lacking[0]}",)
            plan.append(("add", "user", person, here, names, *first))
    return plan


def ordinary_users(passwd: str) -> list[str]:
    """Return the names of ordinary users in the output of `getent passwd`."""
    entries = (line.split(":") for line in passwd.splitlines())
    return sorted(
        entry[0]
        for entry in entries
        if len(entry) > 2 and entry[2].isdigit() and FIRST_UID <= int(entry[2]) <= LAST_UID
    )


def people_plan(
    users: Sequence[User],
    former: Set[str],
    accounts: Sequence[Account],
    shown: Sequence[Row],
    entries: Sequence[Row],
    here: str,
) -> list[Change]:
    """Return the commands for the users; `former` are those who left.

    `shown` are the existing associations, `entries` the users themselves.
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
    """Return sacctmgr's output for a user who has just been added to an account."""
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
    """Close the environment's accounts that the user no longer has; manual ones stay."""
    wanted = {association.account for association in user.associations}
    for account, row in rows.items():
        if account in known and account not in wanted and _is_open(row):
            yield _bar(user.name, account, here)


def _whole(user: User, rows: dict[str, Row], entry: Row, here: str) -> Iterator[Change]:
    """Set a user's options that apply to all accounts."""
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
