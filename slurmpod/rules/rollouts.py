"""Rules for updates in batches, the alarms that roll them back, and provisioning."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Rollout
from slurmpod.problems import Severity, YamlPath
from slurmpod.request import is_configured_by_api
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.rules.groups import API, GUIDE
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding

ROLLOUTS = Area("ROL", "Updates in batches", reads=("cluster",))

POLICY = f"{API}API_RollingDeploymentPolicy.html"
DEPLOYMENT = f"{API}API_DeploymentConfiguration.html"
IMAGE_UPDATES = f"{GUIDE}sagemaker-hyperpod-ami-update.html"


@ROLLOUTS.rule(
    "ROL-001",
    "A rollout says how large its batches are, in one way",
    why="A batch is a number of nodes or a share of them; HyperPod needs one of the two.",
    fix="write either batch_count or batch_percent",
    source=POLICY,
)
def _one_size(resolved: Resolved) -> Iterator[Finding]:
    for _, path, rollout in _rollouts(resolved):
        if rollout.batch_count and rollout.batch_percent:
            message = "both batch_count and batch_percent are given"
            yield Finding((*path, "batch_percent"), message, at_key=True)
        elif not rollout.batch_count and not rollout.batch_percent:
            yield Finding(path, "the size of the batches is missing", at_key=True)


@ROLLOUTS.rule(
    "ROL-002",
    "Rollback batches have one size",
    why="A batch is a number of nodes or a share of them, not both.",
    fix="write either rollback_batch_count or rollback_batch_percent",
    source=POLICY,
)
def _one_rollback_size(resolved: Resolved) -> Iterator[Finding]:
    for _, path, rollout in _rollouts(resolved):
        if rollout.rollback_batch_count and rollout.rollback_batch_percent:
            message = "both rollback_batch_count and rollback_batch_percent are given"
            yield Finding((*path, "rollback_batch_percent"), message, at_key=True)


@ROLLOUTS.rule(
    "ROL-003",
    "Batches are smaller than their group",
    why="A batch of as many nodes as the group has is all of them at once, with no node left for "
    "jobs.",
    fix="write a smaller number, or remove the rollout",
    source=POLICY,
    severity=Severity.WARNING,
)
def _batches_are_smaller(resolved: Resolved) -> Iterator[Finding]:
    for group, path, rollout in _rollouts(resolved):
        count = group.count
        for key in ("batch_count", "rollback_batch_count"):
            size = getattr(rollout, key)
            if size and count > 1 and size >= count:
                message = f"the group has {count} nodes: all of them are in a batch of {size}"
                yield Finding((*path, key), message)


@ROLLOUTS.rule(
    "ROL-004",
    "Only alarms roll back an update",
    why="HyperPod rolls an update back when an alarm goes off: without alarms it never does, "
    "and the sizes of those batches have no effect.",
    fix="name alarms in rollback_alarms, or remove the key",
    source=IMAGE_UPDATES,
    severity=Severity.WARNING,
)
def _rollback_has_alarms(resolved: Resolved) -> Iterator[Finding]:
    for _, path, rollout in _rollouts(resolved):
        for key in ("rollback_batch_count", "rollback_batch_percent"):
            if getattr(rollout, key) and not rollout.rollback_alarms:
                yield Finding((*path, key), "no alarm rolls the update back")


@ROLLOUTS.rule(
    "ROL-005",
    "Alarms have time to go off",
    why="HyperPod watches the alarms between two batches, for wait_seconds.",
    fix="write wait_seconds: at least the period of the alarms, such as 600",
    source=IMAGE_UPDATES,
    severity=Severity.WARNING,
)
def _alarms_have_time(resolved: Resolved) -> Iterator[Finding]:
    for _, path, rollout in _rollouts(resolved):
        if rollout.rollback_alarms and not rollout.wait_seconds:
            message = "there is no waiting time for the alarms"
            yield Finding((*path, "rollback_alarms"), message, at_key=True)


@ROLLOUTS.rule(
    "ROL-006",
    "No alarm is named twice",
    why="An alarm is watched once; a second mention is a mistyped other one.",
    fix="remove it, or write the name of the other alarm",
    source=DEPLOYMENT,
    severity=Severity.WARNING,
)
def _alarms_differ(resolved: Resolved) -> Iterator[Finding]:
    for _, path, rollout in _rollouts(resolved):
        for number, name in enumerate(rollout.rollback_alarms):
            if name in rollout.rollback_alarms[:number]:
                place = (*path, "rollback_alarms", number)
                yield Finding(place, f"'{name}' is listed already")


@ROLLOUTS.rule(
    "ROL-007",
    "Clusters with Slurm are updated in batches",
    why="AWS documents updates in batches for clusters with EKS, and batches of automatic patches "
    "for rolling strategies, which WhenIdle and WhenAllIdle are not. On Slurm the request may be "
    "refused, or all nodes be updated at once.",
    fix="remove the rollout, or accept the warning when AWS says that it supports this by now",
    source=IMAGE_UPDATES,
    severity=Severity.WARNING,
)
def _slurm_has_batches(resolved: Resolved) -> Iterator[Finding]:
    for _, path, _ in _rollouts(resolved):
        yield Finding(path, "batches were for clusters with EKS in 2026", at_key=True)


def _rollouts(resolved: Resolved) -> Iterator[tuple[ResolvedGroup, YamlPath, Rollout]]:
    """Yield every rollout, with its group and its place."""
    for group in resolved.groups:
        for key in ("scheduled_update", "auto_patch"):
            update = getattr(group.settings, key)
            if update and update.rollout:
                yield group, (*group.path, key, "rollout"), update.rollout


PROVISIONING = Area("PRO", "Provisioning", reads=("cluster", "slurm", *LIFECYCLE_MODE))

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
    reads=("cluster", *LIFECYCLE_MODE),
)
def _continuous_needs_the_api(resolved: Resolved) -> Iterator[Finding]:
    if resolved.continuous and not is_configured_by_api(resolved):
        message = "continuous provisioning does not go with lifecycle mode customer"
        yield Finding(MODE, message)


@PROVISIONING.rule(
    "PRO-002",
    "With continuous provisioning there is no strategy to choose",
    why="HyperPod then merges its changes into slurm.conf always, and CreateCluster refuses a "
    "strategy, even that one.",
    fix="remove the key, or write 'provisioning: standard' under cluster",
    source=CONTINUOUS,
)
def _no_strategy(resolved: Resolved) -> Iterator[Finding]:
    strategy = resolved.slurm.config_strategy
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
    reads=("slurm", *LIFECYCLE_MODE),
)
def _strategy_needs_the_api(resolved: Resolved) -> Iterator[Finding]:
    strategy = resolved.slurm.config_strategy
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
def _database_is_continuous(resolved: Resolved) -> Iterator[Finding]:
    if resolved.database and is_configured_by_api(resolved) and not resolved.continuous:
        message = "an accounting database needs continuous provisioning"
        yield Finding(resolved.database.path, message, at_key=True)
