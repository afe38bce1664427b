"""Rules for deep health checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.problems import Severity
from slurmpod.rules.groups import GUIDE, at, known_types
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

HEALTH_CHECKS = Area("DHC", "Deep health checks")

CHECKS = f"{GUIDE}sagemaker-hyperpod-resiliency-slurm-deep-health-checks.html"

SMALLEST_CONNECTION = 2


@HEALTH_CHECKS.rule(
    "DHC-001",
    "Deep health checks are for workers",
    why="The nodes are put into a Slurm reservation while they are checked; the controller and "
    "login nodes take no jobs.",
    fix="remove the key",
    source=CHECKS,
)
def _checks_are_for_workers(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.deep_health_checks and group.role is not Role.WORKER:
            message = f"the {group.role} cannot be checked this way"
            yield Finding(at(index, "deep_health_checks"), message, at_key=True)


@HEALTH_CHECKS.rule(
    "DHC-002",
    "Deep health checks are for GPUs",
    why="On Slurm clusters the checks are diagnostics of NVIDIA GPUs and of the traffic between "
    "them.",
    fix="remove the key, or choose a type with GPUs",
    source=CHECKS,
)
def _checks_are_for_gpus(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        without = [f.name for f in known_types(group) if f.accelerator_kind != "gpu"]
        if group.deep_health_checks and group.role is Role.WORKER and without:
            message = f"{', '.join(without)} has no GPUs"
            yield Finding(at(index, "deep_health_checks"), message, at_key=True)


@HEALTH_CHECKS.rule(
    "DHC-003",
    "Connectivity is checked between nodes",
    why="InstanceConnectivity runs NCCL tests across at least two nodes.",
    fix="remove InstanceConnectivity, or write a count of 2 or more",
    source=CHECKS,
)
def _connectivity_needs_two(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        checks_it = "InstanceConnectivity" in group.deep_health_checks
        if checks_it and 0 < group.count < SMALLEST_CONNECTION:
            place = group.deep_health_checks.index("InstanceConnectivity")
            message = f"'{group.name}' has one node, and no other to connect to"
            yield Finding(at(index, "deep_health_checks", place), message)


@HEALTH_CHECKS.rule(
    "DHC-004",
    "Connectivity is checked where nodes have EFA",
    why="InstanceConnectivity is supported on types whose GPUs communicate across nodes.",
    fix="remove InstanceConnectivity",
    source=CHECKS,
    severity=Severity.WARNING,
)
def _connectivity_needs_efa(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if "InstanceConnectivity" not in group.deep_health_checks:
            continue
        gpus = [facts for facts in known_types(group) if facts.accelerator_kind == "gpu"]
        without = [facts.name for facts in gpus if not facts.efa_interfaces]
        if without:
            place = group.deep_health_checks.index("InstanceConnectivity")
            message = f"{', '.join(without)} has no EFA between its nodes"
            yield Finding(at(index, "deep_health_checks", place), message)


@HEALTH_CHECKS.rule(
    "DHC-005",
    "Nodes that fail deep health checks are replaced",
    why="A node that fails stays unusable until somebody replaces it, when HyperPod may not.",
    fix="write 'node_recovery: Automatic' under cluster, or remove the checks",
    source=CHECKS,
    severity=Severity.WARNING,
)
def _failures_are_replaced(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.deep_health_checks and resolved.node_recovery == "None":
            message = f"nodes of '{group.name}' that fail would not be replaced"
            yield Finding(at(index, "deep_health_checks"), message, at_key=True)
