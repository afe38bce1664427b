"""Rules for the provisioning mode, and what goes with it or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.cluster_request import is_configured_by_api
from slurmpod.rules.groups import API, GUIDE
from slurmpod.rules.record_places import database_place
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

PROVISIONING = Area("PRO", "Provisioning")

CONTINUOUS = f"{GUIDE}sagemaker-hyperpod-scaling-slurm.html"
REFERENCE = f"{GUIDE}sagemaker-hyperpod-ref.html"

MODE = ("cluster", "provisioning")


@PROVISIONING.rule(
    "PRO-001",
    "With continuous provisioning HyperPod configures Slurm",
    why="Nodes come one after the other, and HyperPod adds each to slurm.conf. It does so for "
    "clusters that describe Slurm in the API, not for those with provisioning_parameters.json.",
    fix="write 'mode: extended' or 'mode: managed' under lifecycle, or remove the key",
    source=CONTINUOUS,
)
def _continuous_needs_the_api(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    if resolved.continuous and not is_configured_by_api(resolved):
        message = "continuous provisioning does not go with lifecycle mode customer"
        yield Finding(MODE, message)


@PROVISIONING.rule(
    "PRO-002",
    "With continuous provisioning there is no strategy to choose",
    why="HyperPod then merges its changes into slurm.conf always, and CreateCluster refuses a "
    "strategy, even that one.",
    fix="remove the key",
    source=CONTINUOUS,
)
def _no_strategy(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    strategy = environment.slurm.config_strategy
    if strategy and resolved.continuous:
        message = f"'{strategy}' cannot be asked for with continuous provisioning"
        yield Finding(("slurm", "config_strategy"), message)


@PROVISIONING.rule(
    "PRO-003",
    "A strategy is for clusters that HyperPod configures",
    why="In customer mode provisioning_parameters.json describes Slurm, and a request that does so "
    "too is refused.",
    fix="remove the key, or write 'mode: extended' under lifecycle",
    source=REFERENCE,
)
def _strategy_needs_the_api(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    strategy = environment.slurm.config_strategy
    if strategy and not is_configured_by_api(resolved):
        message = f"'{strategy}' means nothing in lifecycle mode customer"
        yield Finding(("slurm", "config_strategy"), message)


@PROVISIONING.rule(
    "PRO-004",
    "HyperPod uses a database outside the cluster with continuous provisioning only",
    why="In extended and managed mode HyperPod connects Slurm to the database, which it supports "
    "for clusters with continuous provisioning only.",
    fix="write 'provisioning: continuous' under cluster, or remove the key",
    source=f"{API}API_ClusterOrchestratorSlurmConfig.html",
)
def _database_is_continuous(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if resolved.database and is_configured_by_api(resolved) and not resolved.continuous:
        message = "an accounting database needs continuous provisioning"
        yield Finding(database_place(environment), message, at_key=True)
