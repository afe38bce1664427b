"""Rules for the links of FSx for Lustre to S3."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from slurmpod.environment.file_systems import StorageType
from slurmpod.environment.lustre import DataRepository
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved, ResolvedLustre
from slurmpod.rules.data_buckets import mistake_in_bucket_name
from slurmpod.rules.file_systems import API, at, new_lustre
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import BUCKET_NAMES

REPOSITORIES = Area("DRA", "Data repositories", reads=("storage",))

ASSOCIATION = f"{API}/API_DataRepositoryAssociation.html"
CREATE_ASSOCIATION = f"{API}/API_CreateDataRepositoryAssociation.html"
AUTO_EXPORT = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/autoexport-data-repo-dra.html"

LONGEST_URI = 4357


@REPOSITORIES.rule(
    "DRA-001",
    "Every repository has its own folder",
    why="FSx refuses a folder that equals, contains, or is inside the folder of another "
    "repository; `/` leaves no room for a second one.",
    fix="choose folders side by side, such as /data and /results",
    source=CREATE_ASSOCIATION,
)
def _folders(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        for (_, one), (path, other) in combinations(_repositories(each), 2):
            if _contains(one.path, other.path) or _contains(other.path, one.path):
                message = f"{other.path} overlaps with {one.path}, another repository's folder"
                yield Finding((*path, "path"), message)


@REPOSITORIES.rule(
    "DRA-002",
    "Every repository has its own part of a bucket",
    why="FSx refuses to link one bucket or prefix twice with a file system. Prefixes of which one "
    "contains the other would bring every object twice.",
    fix="choose prefixes side by side",
    source=CREATE_ASSOCIATION,
)
def _prefixes(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        for (_, one), (path, other) in combinations(_repositories(each), 2):
            if _contains(one.s3_uri, other.s3_uri) or _contains(other.s3_uri, one.s3_uri):
                message = f"{other.s3_uri} overlaps with {one.s3_uri}, another repository's"
                yield Finding((*path, "s3_uri"), message)


@REPOSITORIES.rule(
    "DRA-003",
    "A file system with repositories has no backups",
    why="FSx makes no backups of file systems that are linked to S3.",
    fix="remove 'backups', or keep the linked data on a separate file system",
    source="https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-backups-fsx.html",
)
def _no_backups(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if each.settings.data_repositories and each.settings.backups:
            message = "a file system with data repositories has no backups"
            yield at(each, "backups", message, at_key=True)


@REPOSITORIES.rule(
    "DRA-004",
    "The file system can have repositories",
    why="Data repositories exist from Lustre 2.12 on, but not for INTELLIGENT_TIERING.",
    fix="remove the key, or choose another storage_type or version",
    source=ASSOCIATION,
)
def _possible(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if not each.settings.data_repositories:
            continue
        if each.settings.storage_type is StorageType.INTELLIGENT_TIERING:
            message = "INTELLIGENT_TIERING has no data repositories"
        elif each.settings.version == "2.10":
            message = "Lustre 2.10 has no data repositories"
        else:
            continue
        yield at(each, "data_repositories", message, at_key=True)


@REPOSITORIES.rule(
    "DRA-005",
    "The bucket's name is valid",
    why="S3 has rules for the names of buckets, and FSx takes paths of at most 4357 characters.",
    fix="correct the name of the bucket",
    source=BUCKET_NAMES,
)
def _bucket_names(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        for path, repository in _repositories(each):
            mistake = mistake_in_bucket_name(repository.bucket)
            if len(repository.s3_uri) > LONGEST_URI:
                mistake = f"the path has more than {LONGEST_URI} characters"
            if mistake:
                yield Finding((*path, "s3_uri"), mistake)


@REPOSITORIES.rule(
    "DRA-006",
    "A repository synchronizes something",
    why="Without events and without the initial import no change ever appears on the other side.",
    fix="give import_events or export_events, or keep import_metadata_on_create",
    source=CREATE_ASSOCIATION,
    severity=Severity.WARNING,
)
def _carries_something(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        for path, repository in _repositories(each):
            events = (*repository.import_events, *repository.export_events)
            if not events and not repository.import_metadata_on_create:
                yield Finding((*path, "path"), f"nothing is synchronized for {repository.path}")


@REPOSITORIES.rule(
    "DRA-007",
    "Every event is named once",
    why="A repeated event is a mistake, or another one was meant.",
    fix="remove it, or write the one that was meant: NEW, CHANGED, DELETED",
    source=CREATE_ASSOCIATION,
)
def _events(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        for path, repository in _repositories(each):
            lists = {
                "import_events": repository.import_events,
                "export_events": repository.export_events,
            }
            for key, events in lists.items():
                for index, event in enumerate(events):
                    if event in events[:index]:
                        yield Finding((*path, key, index), f"{event} is listed already")


@REPOSITORIES.rule(
    "DRA-008",
    "Deleting a file leaves the bucket alone",
    why="With the event DELETED in export_events, deleting a file on a node deletes the object in "
    "the bucket.",
    fix="remove DELETED; if it is intended and the bucket keeps versions, accept the warning with "
    "'suppress'",
    source=AUTO_EXPORT,
    severity=Severity.WARNING,
)
def _deletes_objects(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        for path, repository in _repositories(each):
            if "DELETED" in repository.export_events:
                message = f"deleting a file in {repository.path} deletes {repository.s3_uri}"
                yield Finding((*path, "export_events"), f"{message}...")


@REPOSITORIES.rule(
    "DRA-009",
    "No repository is the bucket of the cluster's own lifecycle scripts",
    why="Its contents run as root on every new node: anyone who can write to the folder could "
    "become root everywhere. The bucket also does not exist yet when FSx links the folder to it.",
    fix="name another bucket",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html",
    reads=("account", "name", "region", "storage"),
)
def _not_our_scripts(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        for path, repository in _repositories(each):
            if repository.bucket == resolved.lifecycle.bucket:
                message = f"'{repository.bucket}' holds the scripts that run as root on new nodes"
                yield Finding((*path, "s3_uri"), message)


def _repositories(each: ResolvedLustre) -> list[tuple[YamlPath, DataRepository]]:
    repositories = enumerate(each.settings.data_repositories)
    return [((*each.path, "data_repositories", index), one) for index, one in repositories]


def _contains(outer: str, inner: str) -> bool:
    """Return whether one path is the other or is below it."""
    return f"{inner.rstrip('/')}/".startswith(f"{outer.rstrip('/')}/")
