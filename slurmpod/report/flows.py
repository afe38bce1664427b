"""Network flows in an environment: resolved -> flows. Pure.

Sources of ports: slurm.conf(5) and slurmdbd.conf(5) (SlurmctldPort, SlurmdPort, DbdPort); FSx for
Lustre and FSx for OpenZFS user guides, "access control with Amazon VPC"; SageMaker HyperPod
developer guide, "prerequisites" (EFA, sessions through Systems Manager).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.resolve.storage import MAIN_LUSTRE

PEOPLE, INTERNET, AWS, S3, DIRECTORY = "people", "internet", "AWS services", "S3", "directory"


class Side(StrEnum):
    """The side on which the other end of a flow is."""

    INSIDE = "inside"
    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True)
class Flow:
    """Traffic of one kind: its purpose, its ports, the groups that take part and the other ends.

    `ends` are ids of anything other than groups: mount paths, or one of the names above.
    """

    name: str
    ports: str
    groups: tuple[str, ...]
    ends: tuple[str, ...]
    why: str
    side: Side = Side.INSIDE


def flows(resolved: Resolved) -> tuple[Flow, ...]:
    """Return all flows, the ones that people ask about first."""
    return (
        *_people(resolved),
        *_internet(resolved),
        *_slurm(resolved),
        *_file_systems(resolved),
        *_records(resolved),
        *_directory(resolved),
        *_aws(resolved),
    )


def _names(groups: tuple[ResolvedGroup, ...]) -> tuple[str, ...]:
    return tuple(group.name for group in groups)


def _people(resolved: Resolved) -> Iterator[Flow]:
    users = resolved.access.session_groups or _names(
        resolved.groups_with(Role.LOGIN) or resolved.groups_with(Role.CONTROLLER)
    )
    recorded = resolved.access.sessions and resolved.access.sessions.record
    how = "sessions of AWS Systems Manager: no port is open to the outside"
    why = f"{how}; they are recorded" if recorded else how
    yield Flow("Sessions", "443", users, (PEOPLE,), why, Side.ABOVE)


def _internet(resolved: Resolved) -> Iterator[Flow]:
    network = resolved.network
    if network.closed:
        return
    everybody = _names(resolved.groups)
    if network.nat_gateways:
        why = "outward only, through the NAT gateways: AWS's APIs, mirrors, registries"
    elif network.existing:
        why = "as the routes of the existing network allow"
    else:
        return
    yield Flow("Internet", "any", everybody, (INTERNET,), why, Side.ABOVE)


def _slurm(resolved: Resolved) -> Iterator[Flow]:
    everybody = _names(resolved.groups)
    why = "slurmctld and slurmd, among all nodes"
    yield Flow("Slurm", "6817, 6818", everybody, (), why)
    fast = tuple(
        group.name
        for group in resolved.groups_with(Role.WORKER)
        if group.facts and group.facts.efa_interfaces
    )
    if fast:
        why = "collective communication among workers, bypassing the kernel"
        yield Flow("EFA", "own protocol", fast, (), why)


def _file_systems(resolved: Resolved) -> Iterator[Flow]:
    everybody = _names(resolved.groups)
    for lustre in resolved.lustre:
        which = "" if lustre.name == MAIN_LUSTRE else f" {lustre.name}"
        path = lustre.settings.mount_path
        yield Flow(f"Lustre{which}", "988, 1018-1023", everybody, (path,), f"mounted at {path}")
    if resolved.openzfs:
        path = resolved.openzfs.settings.mount_path
        ports = "111, 2049, 20001-20003"
        yield Flow("NFS", ports, everybody, (path,), f"OpenZFS, mounted at {path}")


def _records(resolved: Resolved) -> Iterator[Flow]:
    if database := resolved.database:
        controllers = _names(resolved.groups_with(Role.CONTROLLER))
        ends = (database.new.identifier,) if database.new else (str(database.endpoint),)
        side = Side.INSIDE if database.new else Side.BELOW
        yield Flow("MariaDB", str(database.port), controllers, ends, "slurmdbd's job records", side)


def _directory(resolved: Resolved) -> Iterator[Flow]:
    if resolved.access.directory:
        everybody = _names(resolved.groups)
        why = f"people and groups: {', '.join(resolved.access.directory.uris)}"
        yield Flow("Directory", "LDAP, encrypted", everybody, (DIRECTORY,), why, Side.BELOW)


def _aws(resolved: Resolved) -> Iterator[Flow]:
    everybody, network = _names(resolved.groups), resolved.network
    buckets = sorted({resolved.lifecycle.bucket, *(each.bucket for each in resolved.s3_mounts)})
    if resolved.lifecycle.entry_script or resolved.s3_mounts:
        gateway = (
            ""
            if network.existing and not network.existing.route_table_ids
            else (" through a gateway endpoint")
        )
        yield Flow("S3", "443", everybody, (S3,), f"{', '.join(buckets)}{gateway}", Side.BELOW)
    if network.interface_endpoints:
        services = ", ".join(network.interface_endpoints)
        yield Flow("Endpoints", "443", everybody, (AWS,), services, Side.BELOW)
