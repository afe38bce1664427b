"""Rules for the database of job records in RDS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from slurmpod.environment.facts import fact, table
from slurmpod.environment.slurm import LARGEST_STORAGE_GIB
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.database import USER
from slurmpod.resolve.network import SUBNETS
from slurmpod.rules.registry import LIFECYCLE_MODE, PRIVATE_SUBNETS, Area, Finding
from slurmpod.rules.sources import DELETION_POLICY
from slurmpod.value import Value

SHORTEST_MINUTES = 30

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES_OF_A_DAY = 24 * 60
MINUTES_OF_A_WEEK = len(DAYS) * MINUTES_OF_A_DAY


class Window(Value):
    """A stretch of time that comes again; one that ends before it begins goes past midnight."""

    start: int
    length: int

    def meets_daily(self, weekly: Window) -> bool:
        """Return whether this window, every day, and one that is once a week share a minute."""
        since_start = (weekly.start - self.start) % MINUTES_OF_A_DAY
        return since_start < self.length or since_start + weekly.length > MINUTES_OF_A_DAY


def minutes_of_backup(text: str | None) -> Window | None:
    """Return a window such as 03:00-04:00."""
    if text is None:
        return None
    start, end = (_minutes(time) for time in text.split("-"))
    return Window(start, (end - start) % MINUTES_OF_A_DAY)


def minutes_of_maintenance(text: str | None) -> Window | None:
    """Return a window such as sun:05:00-sun:06:00."""
    if text is None:
        return None
    start, end = (_minutes_of_week(moment) for moment in text.split("-"))
    return Window(start, (end - start) % MINUTES_OF_A_WEEK)


def _minutes_of_week(moment: str) -> int:
    day, _, time = moment.partition(":")
    return DAYS.index(day) * MINUTES_OF_A_DAY + _minutes(time)


def _minutes(time: str) -> int:
    hours, _, minutes = time.partition(":")
    return int(hours) * 60 + int(minutes)


RDS = Area("RDS", "A database server for job records", reads=("slurm",))

USER_GUIDE = "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/"
CREATION = "https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBInstance.html"
SUBNET_GROUPS = f"{USER_GUIDE}USER_VPC.WorkingWithRDSInstanceinaVPC.html"
AUTOSCALING = f"{USER_GUIDE}USER_PIOPS.Autoscaling.html"
CLASSES = f"{USER_GUIDE}Concepts.DBInstanceClass.Support.html"
ROTATION = f"{USER_GUIDE}rds-secrets-manager.html"
MULTI_HEAD = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-multihead-slurm.html"
)

SECTION = ("slurm", "rds")
ZONES_OF_RDS = 2
LEAST_GROWTH_PERCENT = 10

CLASSES_OF_MARIADB = fact("instance_types.rds")
"""The classes that RDS has for MariaDB in any Region."""

OLD_GENERATIONS = {"m": 6, "r": 6, "t": 4, "x": 2}
"""Up to which generation of a series RDS adds no families any more."""


@cache
def sizes_by_family() -> Mapping[str, Sequence[str]]:
    """Return the sizes of each family of classes that RDS has for MariaDB."""
    found: dict[str, list[str]] = {}
    for name in table(CLASSES_OF_MARIADB):
        _, family, size = name.split(".")
        found.setdefault(family, []).append(size)
    return found


SIZE = re.compile(r"micro|small|medium|(([1-9][0-9]*)?x)?large|metal")
"""The sizes of classes, also of such as RDS adds."""


def is_known_class(name: str) -> bool:
    """Return whether RDS is known to have a class for MariaDB."""
    _, family, size = name.split(".")
    return size in sizes_by_family().get(family, ())


def could_be_class(name: str) -> bool:
    """Return whether RDS has a class for MariaDB, or may have: it adds families and sizes."""
    _, family, size = name.split(".")
    if not SIZE.fullmatch(size):
        return False
    if family in sizes_by_family():
        return True
    series = re.match(r"([a-z])([0-9]+)", family)
    newest = OLD_GENERATIONS.get(series[1]) if series else None
    return bool(series and newest and int(series[2]) > newest)


@RDS.rule(
    "RDS-001",
    "A database server has subnets in two zones",
    why="RDS makes no server in subnets of one zone: it must be able to go elsewhere when that "
    "zone fails. Nodes do not have to be in the second zone.",
    fix="add a zone to network.other_zones, where a private_subnet_cidr of /28 is enough; in a "
    "deployed environment write network.private_subnet_cidr as it is, so that it stays",
    source=SUBNET_GROUPS,
    reads=PRIVATE_SUBNETS,
)
def _two_zones(resolved: Resolved) -> Iterator[Finding]:
    zones = set(resolved.network.zones)
    if resolved.slurm.rds is None or len(zones) >= ZONES_OF_RDS:
        return
    message = f"RDS needs subnets in two zones, there is {', '.join(sorted(zones))}"
    if resolved.network.existing:
        fix = "add a private subnet of your VPC in another zone"
        yield Finding(SUBNETS, message, fix, at_key=True)
    else:
        yield Finding(("network", "zone"), message)


@RDS.rule(
    "RDS-002",
    "There is one database for job records",
    why="slurmdbd writes to one server: the other would stay empty, and cost.",
    fix="remove rds, or accounting_database",
    source="https://slurm.schedmd.com/slurmdbd.conf.html",
)
def _one_database(resolved: Resolved) -> Iterator[Finding]:
    if resolved.slurm.rds and resolved.slurm.accounting_database:
        message = "accounting_database says that there is a server already"
        yield Finding(SECTION, message, at_key=True)


@RDS.rule(
    "RDS-003",
    "The storage has room to grow",
    why=f"RDS refuses a limit that is less than {LEAST_GROWTH_PERCENT} percent above the storage.",
    fix="write a larger max_storage_gib, or remove the key",
    source=AUTOSCALING,
    reads=("name", "slurm"),
)
def _has_room_to_grow(resolved: Resolved) -> Iterator[Finding]:
    rds = resolved.slurm.rds
    if not rds or not resolved.database or not resolved.database.new:
        return
    limit = resolved.database.new.max_storage_gib
    least = -(-rds.storage_gib * (100 + LEAST_GROWTH_PERCENT) // 100)
    if limit < least:
        message = f"{limit} GiB is too little for a storage of {rds.storage_gib} GiB"
        fix = f"write {least} or more" if least <= LARGEST_STORAGE_GIB else "write less storage_gib"
        yield Finding((*SECTION, "max_storage_gib"), message, fix)


@RDS.rule(
    "RDS-004",
    "Windows are long enough",
    why=f"RDS takes no window for backups or maintenance under {SHORTEST_MINUTES} minutes.",
    fix=f"write a window of {SHORTEST_MINUTES} minutes or more",
    source=CREATION,
)
def _windows_are_long(resolved: Resolved) -> Iterator[Finding]:
    rds = resolved.slurm.rds
    for key, minutes in (
        ("backup_window", minutes_of_backup(rds.backup_window if rds else None)),
        ("maintenance_window", minutes_of_maintenance(rds.maintenance_window if rds else None)),
    ):
        if minutes is not None and minutes.length < SHORTEST_MINUTES:
            yield Finding((*SECTION, key), f"the window has {minutes.length} minutes")


@RDS.rule(
    "RDS-005",
    "Backups and maintenance have separate windows",
    why="RDS refuses a window for maintenance that meets the one for the daily backup.",
    fix="move one of the two windows",
    source=CREATION,
)
def _windows_are_apart(resolved: Resolved) -> Iterator[Finding]:
    rds = resolved.slurm.rds
    backup = minutes_of_backup(rds.backup_window if rds else None)
    maintenance = minutes_of_maintenance(rds.maintenance_window if rds else None)
    if backup and maintenance and backup.meets_daily(maintenance):
        message = "the server would be maintained while it is backed up"
        yield Finding((*SECTION, "maintenance_window"), message)


@RDS.rule(
    "RDS-008",
    "A protected environment keeps its job records",
    why="`protected` promises that nothing is lost by one command; `on_delete: delete` deletes the "
    "server with its stack, and its backups with it.",
    fix="write 'on_delete: retain' or snapshot, or remove the protection",
    source=DELETION_POLICY,
    reads=("protected", "slurm"),
)
def _protected_keeps_records(resolved: Resolved) -> Iterator[Finding]:
    rds = resolved.slurm.rds
    if rds and rds.on_delete == "delete" and resolved.protected:
        message = "a protected environment cannot delete its job records with its stack"
        yield Finding((*SECTION, "on_delete"), message)


@RDS.rule(
    "RDS-009",
    "Job records outlive their stack",
    why="Deleting the stack deletes the server with all job records, and its backups.",
    fix="write retain or snapshot; where the records can be lost, accept the warning with "
    "'suppress'",
    source=DELETION_POLICY,
    severity=Severity.WARNING,
    reads=("protected", "slurm"),
)
def _records_outlive_the_stack(resolved: Resolved) -> Iterator[Finding]:
    rds = resolved.slurm.rds
    if rds and rds.on_delete == "delete" and not resolved.protected:
        yield Finding((*SECTION, "on_delete"), "all job records are deleted with the stack")


@RDS.rule(
    "RDS-010",
    "The server has a size that RDS could offer for MariaDB",
    why="RDS refuses a class that it does not have, after everything else was created.",
    fix="choose a class such as db.t4g.medium or db.m7g.large",
    source=CLASSES,
)
def _class_is_possible(resolved: Resolved) -> Iterator[Finding]:
    rds = resolved.slurm.rds
    if rds and not could_be_class(rds.instance_class):
        message = f"RDS has no {rds.instance_class} for MariaDB"
        yield Finding((*SECTION, "instance_class"), message, _sizes_of_family(rds.instance_class))


def _sizes_of_family(name: str) -> str:
    family = name.split(".")[1]
    sizes = sizes_by_family().get(family, ())
    return f"sizes of db.{family} are {', '.join(sizes)}" if sizes else ""


@RDS.rule(
    "RDS-011",
    "A new password reaches slurmdbd",
    why="RDS changes the password every seven days. slurmpod's scripts pass it to slurmdbd; in "
    "managed mode there are none, and HyperPod is not known to do so. From then on slurmctld keeps "
    "the records of jobs back, and sacct fails.",
    fix="use lifecycle mode extended, which is managed mode with slurmpod's scripts; or give the "
    "secret a long schedule by hand, and accept this warning",
    source=ROTATION,
    severity=Severity.WARNING,
    reads=("slurm", *LIFECYCLE_MODE),
)
def _somebody_tells_slurmdbd(resolved: Resolved) -> Iterator[Finding]:
    if resolved.slurm.rds and resolved.lifecycle.mode == "managed":
        message = "slurmdbd does not get a new password after RDS has changed it"
        yield Finding(SECTION, message, at_key=True)


@RDS.rule(
    "RDS-012",
    "A new server has its own user",
    why=f"RDS makes one user, {USER}, whose password the secret holds. database_user is for a "
    "server of your own.",
    fix="remove database_user",
    source=MULTI_HEAD,
)
def _user_is_its_own(resolved: Resolved) -> Iterator[Finding]:
    slurm = resolved.slurm
    if slurm.rds and slurm.multi_head and slurm.multi_head.database_user != USER:
        message = f"the server has no user {slurm.multi_head.database_user}"
        yield Finding(("slurm", "multi_head", "database_user"), message)


@RDS.rule(
    "RDS-013",
    "The server has a size that RDS is known to offer for MariaDB",
    why="The class is newer than those on the list. Where RDS does not have it, it "
    f"refuses it after everything else was created. The list is from {CLASSES_OF_MARIADB.when}.",
    fix="choose a class such as db.t4g.medium or db.m7g.large; suppress it if AWS has added it",
    source=CLASSES,
    severity=Severity.WARNING,
)
def _class_is_known(resolved: Resolved) -> Iterator[Finding]:
    rds = resolved.slurm.rds
    if rds and could_be_class(rds.instance_class) and not is_known_class(rds.instance_class):
        when = CLASSES_OF_MARIADB.when
        message = f"RDS had no {rds.instance_class} for MariaDB (as of {when})"
        fix = f"{_sizes_of_family(rds.instance_class)}; suppress it if AWS has added it"
        yield Finding((*SECTION, "instance_class"), message, fix.removeprefix("; "))


@RDS.rule(
    "RDS-014",
    "Saved job records are the controller's own, and stay",
    why="slurmpod's scripts save and load the database that they set up on the controller, in mode "
    "customer. Elsewhere HyperPod or you set it up, and an external server has its own backups. "
    "The copies are in the bucket of the scripts, and go with it where it is deleted.",
    fix="remove records_backup; in extended and managed mode slurm.rds keeps the records",
    source="https://slurm.schedmd.com/accounting.html",
    reads=("slurm", *LIFECYCLE_MODE),
)
def _saves_its_own_records(resolved: Resolved) -> Iterator[Finding]:
    slurm, lifecycle = resolved.slurm, resolved.lifecycle
    if slurm.records_backup is None:
        return
    reasons = {
        "without accounting there are no records": not slurm.accounting,
        "the records are in a database outside the cluster": resolved.database is not None,
        "own scripts set the database up": lifecycle.own_scripts is not None,
        f"in mode {lifecycle.mode} HyperPod sets the database up": lifecycle.mode != "customer",
        "the bucket is deleted with its stack (lifecycle.bucket_on_delete)": (
            lifecycle.bucket_on_delete == "delete"
        ),
    }
    for message, is_so in reasons.items():
        if is_so:
            yield Finding(("slurm", "records_backup"), message, at_key=True)
            return
