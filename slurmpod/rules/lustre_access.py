"""Rules for the use of FSx for Lustre: over EFA, as whom, and its links to S3."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from slurmpod.environment.cluster import Role
from slurmpod.environment.file_systems import StorageType
from slurmpod.environment.lustre import DataRepository, RootSquash
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved, ResolvedLustre
from slurmpod.resolve.storage import GIB_PER_EFA_SERVER, METADATA_VERSION
from slurmpod.rules.existing_network import (
    addresses_of,
    name_one_node,
    network_id_of,
    reach_every_node,
)
from slurmpod.rules.file_systems import API, EFA_CLIENTS, at, new_lustre
from slurmpod.rules.groups import may_have_efa
from slurmpod.rules.identity import mistake_in_bucket_name
from slurmpod.rules.lifecycle import is_ours
from slurmpod.rules.lustre import REGIONS_WITH_LITTLE_THROUGHPUT
from slurmpod.rules.registry import Area, Finding

ACCESS = Area("LAC", "Access to FSx for Lustre")

EFA = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/efa-file-systems.html"
ROOT_SQUASH = f"{API}/API_LustreRootSquashConfiguration.html"

LARGEST_ID = 4_294_967_294


@ACCESS.rule(
    "LAC-001",
    "A file system with EFA is PERSISTENT_2 with a metadata configuration",
    why="FSx offers EFA for PERSISTENT_2 with a metadata configuration only, and it cannot be "
    "added later.",
    fix=f"choose PERSISTENT_2 and version {METADATA_VERSION}, or remove 'efa'",
    source=EFA,
)
def _efa_kind(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if each.settings.efa and not each.has_metadata_configuration:
            kind = f"{each.settings.deployment_type} with Lustre {each.settings.version}"
            yield at(each, "efa", f"{kind} has no EFA")


@ACCESS.rule(
    "LAC-002",
    "A file system with EFA has a capacity that its servers share",
    why="With EFA servers are larger: capacity comes in steps of 38400 GiB at 125 MB/s per TiB, "
    "19200 at 250, 9600 at 500 and 4800 at 1000.",
    fix="write a multiple of the step, or choose a throughput with a smaller step",
    source=EFA,
)
def _efa_capacity(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        settings, throughput = each.settings, each.throughput_mbps_per_tib or 0
        step = GIB_PER_EFA_SERVER.get(throughput)
        is_ssd = settings.storage_type is StorageType.SSD
        if not settings.efa or not is_ssd or step is None or not settings.capacity_gib % step:
            continue
        message = f"with EFA at {throughput} MB/s per TiB, {settings.capacity_gib} GiB is no size"
        above = (settings.capacity_gib // step + 1) * step
        fix = f"write a multiple of {step}, such as {above}, or choose another throughput"
        yield at(each, "capacity_gib", message, fix)


@ACCESS.rule(
    "LAC-003",
    "Some worker in the zone of a file system with EFA has EFA",
    why="Nodes without EFA reach the file system over TCP, and so do nodes in another zone, as EFA "
    "does not cross zones: nobody would use what cannot be taken away again and makes the steps of "
    "the capacity large.",
    fix="choose instance types with EFA, or remove 'efa'",
    source=EFA_CLIENTS,
    severity=Severity.WARNING,
)
def _efa_is_used(resolved: Resolved) -> Iterator[Finding]:
    workers = resolved.groups_with(Role.WORKER)
    zones = sorted({group.zone for group in workers if may_have_efa(group)})
    for each in resolved.lustre if workers else ():
        zone = each.zone
        if not each.settings.efa or zone in zones:
            continue
        if zones:
            message = f"workers with EFA are in {', '.join(zones)}, the file system is in {zone}"
            fix = f"place a group with EFA in {zone}, or remove 'efa'"
            yield at(each, "efa", message, fix)
        else:
            yield at(each, "efa", "no worker group has EFA")


@ACCESS.rule(
    "LAC-004",
    "The Region has file systems with EFA",
    why="In some Regions FSx for Lustre has no EFA.",
    fix="remove 'efa', or look up whether FSx offers it there by now",
    source="https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-fsx-lustre.html",
    severity=Severity.WARNING,
)
def _efa_region(resolved: Resolved) -> Iterator[Finding]:
    if resolved.region not in REGIONS_WITH_LITTLE_THROUGHPUT:
        return
    for each in new_lustre(resolved):
        if each.settings.efa:
            message = f"FSx for Lustre had no EFA in {resolved.region} in 2026"
            yield at(each, "efa", message)


@ACCESS.rule(
    "LAC-005",
    "Root becomes a user and a group that exist",
    why="Root squash takes ids from 1 to 4294967294, both or none of them 0: 0 is root itself and "
    "turns it off.",
    fix="write 65534:65534, which is nobody, or 0:0 to turn root squash off",
    source=ROOT_SQUASH,
)
def _squash_ids(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        squash = each.settings.root_squash
        if squash is None:
            continue
        user, group = map(int, squash.user.split(":"))
        if bool(user) != bool(group) or max(user, group) > LARGEST_ID:
            path = (*each.path, "root_squash", "user")
            yield Finding(path, f"root cannot become '{squash.user}'")


@ACCESS.rule(
    "LAC-006",
    "Exceptions from root squash are network ids",
    why="A client is named by its address, each part of which can be a range from a smaller number "
    "to a larger one, and Lustre's name of the network.",
    fix="write 10.0.128.5@tcp, or a range such as 10.0.[128-255].[0-255]@tcp",
    source=ROOT_SQUASH,
)
def _squash_exceptions(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        nids = each.settings.root_squash.except_nids if each.settings.root_squash else ()
        for index, nid in enumerate(nids):
            if addresses_of(nid) is None:
                path = (*each.path, "root_squash", "except_nids", index)
                yield Finding(path, f"'{nid}' is no network id of a client")


@ACCESS.rule(
    "LAC-007",
    "Root squash leaves somebody who can begin",
    why="The root folder of a new file system belongs to root. When root is nobody on the "
    "controller, too, the lifecycle scripts can neither write to it nor make folders for users. "
    "Which address of its subnet the controller gets is known when it runs, not before.",
    fix="name the addresses of the controller's subnet in except_nids, such as "
    "10.0.[128-255].[0-255]@tcp",
    source=ROOT_SQUASH,
)
def _squash_leaves_somebody(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        squash = each.settings.root_squash
        if squash and is_ours(resolved) and squash.user != "0:0":
            yield from _root_on_no_controller(each, squash, resolved)


@ACCESS.rule(
    "LAC-008",
    "Exceptions are from a root squash that is on",
    why="With 0:0 root stays root everywhere, and FSx takes no exceptions from that.",
    fix="remove except_nids, or name another user, such as 65534:65534",
    source=ROOT_SQUASH,
)
def _squash_is_on(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        squash = each.settings.root_squash
        if squash and squash.except_nids and squash.user == "0:0":
            path = (*each.path, "root_squash", "except_nids")
            yield Finding(path, "root is root everywhere: there is nothing to except", at_key=True)


def _root_on_no_controller(
    each: ResolvedLustre, squash: RootSquash, resolved: Resolved
) -> Iterator[Finding]:
    """Find the subnets of controllers that no exception is for."""
    excepted = [addresses_of(nid) for nid in squash.except_nids]
    named = [addresses for addresses in excepted if addresses]
    if len(named) < len(excepted):  # LAC-006 speaks
        return
    left = [
        cidr
        for cidr in _subnets_of_controllers(resolved)
        if not reach_every_node(named, cidr) and not name_one_node(named, cidr)
    ]
    fix = f"add {' and '.join(map(network_id_of, left))} to except_nids" if left else ""
    if not named:
        message = "root is nobody on every node, and nobody can write to a new file system"
        yield at(each, "root_squash", message, fix, at_key=True)
    elif left:
        where = " and ".join(map(str, left))
        message = f"root is nobody on nodes in {where}, where the controller gets its address"
        yield Finding((*each.path, "root_squash", "except_nids"), message, fix, at_key=True)


def _subnets_of_controllers(resolved: Resolved) -> list[IPv4Network]:
    """Return the ranges of the subnets that controllers are in, as far as they are known."""
    zones = {group.zone for group in resolved.groups_with(Role.CONTROLLER)}
    return [each.cidr for each in resolved.network.private if each.zone in zones and each.cidr]


REPOSITORIES = Area("DRA", "Data repositories")

ASSOCIATION = f"{API}/API_DataRepositoryAssociation.html"
CREATE_ASSOCIATION = f"{API}/API_CreateDataRepositoryAssociation.html"
AUTO_EXPORT = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/autoexport-data-repo-dra.html"
BUCKET_NAMES = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"

LONGEST_URI = 4357


@REPOSITORIES.rule(
    "DRA-001",
    "Every repository has a folder of its own",
    why="FSx refuses a folder that is, contains, or lies in the folder of another repository; `/` "
    "leaves no room for a second one.",
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
    "Every repository has a part of a bucket of its own",
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
    fix="remove 'backups', or keep the linked data on a file system of their own",
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
    "The bucket can exist",
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
    "A repository carries something over",
    why="Without events and without the first import nothing in the folder or the bucket is ever "
    "seen on the other side.",
    fix="give import_events or export_events, or leave import_metadata_on_create as it is",
    source=CREATE_ASSOCIATION,
    severity=Severity.WARNING,
)
def _carries_something(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        for path, repository in _repositories(each):
            events = (*repository.import_events, *repository.export_events)
            if not events and not repository.import_metadata_on_create:
                yield Finding((*path, "path"), f"nothing is carried over for {repository.path}")


@REPOSITORIES.rule(
    "DRA-007",
    "Every event is named once",
    why="An event that stands twice is a mistake, or another one was meant.",
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
                        yield Finding((*path, key, index), f"{event} stands there already")


@REPOSITORIES.rule(
    "DRA-008",
    "Deleting a file leaves the bucket alone",
    why="With the event DELETED in export_events, whoever deletes a file on a node deletes the "
    "object in the bucket.",
    fix="remove DELETED; where it is meant and the bucket keeps versions, accept the warning with "
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
    why="What lies there runs as root on every new node: whoever writes to the folder could become "
    "root everywhere. Nor is the bucket there yet when FSx links the folder to it.",
    fix="name another bucket",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html",
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
    """Tell whether one path is the other or lies below it."""
    return f"{inner.rstrip('/')}/".startswith(f"{outer.rstrip('/')}/")
