"""Rules for the use of FSx for Lustre: over EFA, and as whom."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from slurmpod.environment.cluster import Role
from slurmpod.environment.file_systems import StorageType
from slurmpod.environment.lustre import RootSquash
from slurmpod.problems import Severity
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
from slurmpod.rules.lifecycle import is_ours
from slurmpod.rules.lustre import WITH_LITTLE_THROUGHPUT
from slurmpod.rules.registry import PRIVATE_SUBNETS, Area, Finding

ACCESS = Area("LAC", "Access to FSx for Lustre", reads=("storage",))

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
    "does not cross zones: EFA would be unused, although it cannot be removed later and makes the "
    "steps of the capacity large.",
    fix="choose instance types with EFA, or remove 'efa'",
    source=EFA_CLIENTS,
    severity=Severity.WARNING,
    reads=("cluster", "network", "storage"),
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
    reads=("region", "storage"),
)
def _efa_region(resolved: Resolved) -> Iterator[Finding]:
    if resolved.region not in WITH_LITTLE_THROUGHPUT.values:
        return
    for each in new_lustre(resolved):
        if each.settings.efa:
            when = WITH_LITTLE_THROUGHPUT.when
            message = f"FSx for Lustre had no EFA in {resolved.region} (as of {when})"
            yield at(each, "efa", message)


@ACCESS.rule(
    "LAC-005",
    "Root becomes a user and a group that exist",
    why="Root squash takes ids from 1 to 4294967294, both or none of them 0: 0 is root itself and "
    "turns it off.",
    fix="write 65534:65534 (nobody), or 0:0 to turn root squash off",
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
    "Root squash exempts the controller",
    why="The root folder of a new file system belongs to root. If root is mapped to another "
    "user on the controller, too, the lifecycle scripts can neither write to it nor create "
    "folders for users. The controller's address in its subnet is unknown until it runs.",
    fix="name the addresses of the controller's subnet in except_nids, such as "
    "10.0.[128-255].[0-255]@tcp",
    source=ROOT_SQUASH,
    reads=("lifecycle", "name", *PRIVATE_SUBNETS),
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
        message = "root is squashed on every node, so no one can write to a new file system"
        yield at(each, "root_squash", message, fix, at_key=True)
    elif left:
        where = " and ".join(map(str, left))
        message = f"root is squashed on nodes in {where}, where the controller gets its address"
        yield Finding((*each.path, "root_squash", "except_nids"), message, fix, at_key=True)


def _subnets_of_controllers(resolved: Resolved) -> list[IPv4Network]:
    """Return the ranges of the subnets that controllers are in, as far as they are known."""
    zones = {group.zone for group in resolved.groups_with(Role.CONTROLLER)}
    return [each.cidr for each in resolved.network.private if each.zone in zones and each.cidr]
