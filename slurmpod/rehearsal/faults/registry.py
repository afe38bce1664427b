"""All faults, the ones a user selects, and what an environment lacks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from embedded_aws.clients import Clients
from slurmpod.aws.cluster import Node
from slurmpod.environment.cluster import Role
from slurmpod.rehearsal.faults import (
    capacity,
    controller,
    credentials,
    deaths,
    instances,
    networks,
    ranks,
    scripts,
    storage,
    taken_back,
)
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, Need
from slurmpod.rehearsal.first_job import shared_folder, workers_of
from slurmpod.rehearsal.hyperpod.capacity import Shortage
from slurmpod.resolve import Resolved

FAULTS = (
    deaths.WORKER_POWER_CUT,
    deaths.WORKER_POWER_OFF,
    deaths.BATCH_HOST_POWER_CUT,
    instances.WORKER_DIES_AT_ONCE,
    controller.CONTROLLER_KILLED,
    controller.DATABASE_DOWN,
    networks.NETWORK_CUT,
    networks.NETWORK_LOST,
    storage.FILE_SYSTEM_LATE,
    storage.FILE_SYSTEM_FULL,
    storage.ROOT_DISK_FULL,
    scripts.S3_AWAY,
    scripts.APT_LOCKED,
    networks.NAMES_GONE,
    credentials.CLOCK_SKEW,
    scripts.SCRIPTS_TWICE,
    instances.TWO_REPLACED,
    instances.REPLACEMENT_FAILS,
    credentials.WRONG_MUNGE_KEY,
    instances.MANY_JOINING,
    capacity.CAPACITY_LATE,
    capacity.CAPACITY_PART,
    taken_back.SPOT_RECLAIMED,
    taken_back.PLAN_ENDS,
    taken_back.ZONE_FAILS,
    ranks.RANK_HANGS,
    ranks.RANK_CRAWLS,
    ranks.LOADER_STALLS,
)
"""All faults, in the order in which they run and are documented."""

ALL = "all"
NAMES = (ALL, *(fault.name for fault in FAULTS))
STRIKES_TEXT = "faults for running jobs: " + ", ".join(
    fault.name for fault in FAULTS if fault.strike
)
"""The faults that can strike any workload."""

WORKERS = 2
"""One for the fault, one whose jobs continue."""


def chosen(names: Sequence[str]) -> tuple[Fault, ...]:
    """Return the faults with these names, each once, in the order of all faults."""
    return tuple(fault for fault in FAULTS if ALL in names or fault.name in names)


def unmet_needs(resolved: Resolved, faults: Sequence[Fault]) -> tuple[str, ...]:
    """Return what an environment lacks for these faults; empty if nothing."""
    lifecycle, workers = resolved.lifecycle, workers_of(resolved)
    wanted = {
        "slurmpod's own scripts must run (lifecycle.mode: customer or extended)": lifecycle.mode
        != "managed"
        and lifecycle.own_scripts is None,
        f"a worker group needs a count of {WORKERS} or more": workers.count >= WORKERS,
        "users need a shared file system (storage.lustre, a new one)": bool(resolved.lustre)
        and shared_folder(resolved) is not None,
        "jobs need records (slurm.accounting: true, with a database on the controller)": (
            resolved.slurm.accounting and resolved.database is None
        ),
        "HyperPod must replace faulty nodes (cluster.node_recovery: Automatic)": (
            resolved.environment.cluster.node_recovery == "Automatic"
        ),
    }
    lacking = tuple(text for text, is_so in wanted.items() if not is_so)
    special = impossible(resolved, faults).items()
    return (*lacking, *(f"{text} for {', '.join(names)}" for text, names in special))


def impossible(resolved: Resolved, faults: Sequence[Fault]) -> Mapping[str, tuple[str, ...]]:
    """Return the faults that an environment's cluster does not support, by what it lacks."""
    unmet = [need for need, is_met in _MET.items() if not is_met(resolved)]
    named = {need.value: tuple(x.name for x in faults if x.need is need) for need in unmet}
    return {text: names for text, names in named.items() if names}


def _has_other_zone(resolved: Resolved) -> bool:
    zones = {group.zone for group in resolved.groups_with(Role.CONTROLLER)}
    return workers_of(resolved).zone not in zones


_MET: Mapping[Need, Callable[[Resolved], bool]] = MappingProxyType(
    {
        Need.CUSTOMER: lambda resolved: resolved.lifecycle.mode != "extended",
        Need.CONTINUOUS: lambda resolved: resolved.continuous,
        Need.PLAN: lambda resolved: bool(
            resolved.continuous and workers_of(resolved).settings.training_plan_arn
        ),
        Need.OTHER_ZONE: _has_other_zone,
    }
)


def fault_cluster(
    folder: Path,
    aws: Clients,
    resolved: Resolved,
    nodes: Sequence[Node],
    entrance: str,
    shortage: Shortage,
) -> FaultCluster:
    """Return the cluster of an environment that lacks nothing, with the interface faults use."""
    workers, shared = workers_of(resolved), shared_folder(resolved)
    assert shared is not None  # noqa: S101  # `unmet_needs` has looked
    assert workers.partition is not None  # noqa: S101  # every worker group has one
    controllers = {group.name for group in resolved.groups_with(Role.CONTROLLER)}
    return FaultCluster(
        folder=folder,
        aws=aws,
        name=resolved.name,
        controller=next(node.name for node in nodes if node.group in controllers),
        login=entrance,
        workers=tuple(node.name for node in nodes if node.group == workers.name),
        partition=workers.partition,
        shared=Path(shared),
        shortage=shortage,
    )
