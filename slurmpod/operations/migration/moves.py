"""The moves: their steps, their effect on nodes and jobs, and the sources.

Sources: SageMaker developer guide, "Migrating to API-driven Slurm configuration", "Continuous
provisioning for enhanced cluster operations with Slurm", "Using an external accounting database
with SageMaker HyperPod Slurm clusters"; API reference, DatabaseConfigurationMetadata (a change of
the database of a live cluster, and how it is taken back).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slurmpod.changes.change import Change
from slurmpod.environment.base import Effect, Kind, effect_of
from slurmpod.environment.cluster import Cluster
from slurmpod.environment.lifecycle import Lifecycle

MODE, PROVISIONING, STRATEGY = "lifecycle.mode", "cluster.provisioning", "slurm.config_strategy"
DATABASE = "slurm.accounting_database"


@dataclass(frozen=True)
class Move:
    """A move: the field that requests it, its steps in order, and fields that may change with it.

    `begins` is the value of the field before it.
    """

    name: str
    path: str
    title: str
    steps: tuple[str, ...]
    nodes: str
    effect: Effect
    begins: str | None
    together: tuple[str, ...] = ()


API_DRIVEN = Move(
    "api-driven",
    MODE,
    "HyperPod configures Slurm from the request, not from provisioning_parameters.json",
    (
        "copy slurm.conf, what it includes and provisioning_parameters.json to this machine",
        "s3:PutObject: the scripts go to a new folder of the bucket, without that file",
        "sagemaker:UpdateCluster, by CloudFormation: SlurmConfig for each group, the new scripts",
        "run the new scripts on the existing nodes",
        "compare jobs, queue, records, users and nodes with those before",
    ),
    "no node is replaced or restarted; jobs continue; submit none meanwhile. Existing nodes "
    "keep what their OnCreate scripts did; HyperPod sets up new ones, then the scripts do",
    effect_of(Lifecycle.model_fields["mode"]),
    "customer",
    (STRATEGY, "lifecycle."),
)
CONTINUOUS = Move(
    "continuous",
    PROVISIONING,
    "HyperPod starts nodes one by one, and keeps requesting missing ones",
    (
        "copy slurm.conf and what it includes to this machine",
        "sagemaker:UpdateCluster, by CloudFormation: NodeProvisioningMode Continuous",
        "compare jobs, queue, records, users and nodes with those before",
    ),
    "the effect on nodes and jobs is undocumented; in a rehearsal all continue. The cluster stays "
    "InService from then on while it scales, and each instance is billed separately",
    effect_of(Cluster.model_fields["provisioning"]),
    "standard",
    (STRATEGY,),
)
RECORDS = Move(
    "records",
    DATABASE,
    "job records, including existing ones, go to a database outside the cluster",
    (
        "copy slurm.conf and what it includes to this machine",
        "deploy all stacks but the cluster's: the controller may then read the secret",
        "stop slurmdbd on the controller; slurmctld queues records, and sends them later",
        "copy the records into the other database, which must be empty, and compare row counts",
        "sagemaker:UpdateCluster, by CloudFormation: AccountingDatabase; slurmdbd starts with it",
        "run the new scripts on the existing nodes",
        "compare jobs, queue, records, users and nodes with those before",
    ),
    "jobs continue, and new ones start; sacct and sacctmgr do not answer while slurmdbd is "
    "stopped. The records on the controller stay there, unused",
    Effect(
        Kind.LOSES,
        "the way back",
        source='SageMaker developer guide, "Using an external accounting database with SageMaker '
        'HyperPod Slurm clusters": no way back, continuous provisioning, images after August 30, '
        "2026",
        doubt="whether HyperPod starts slurmdbd by itself while it is stopped: records that it "
        "writes then would be left behind",
    ),
    None,
)
MOVES = (API_DRIVEN, CONTINUOUS, RECORDS)


def moves_in(changes: Sequence[Change]) -> tuple[Move, ...]:
    """Return the moves that changes request, in the order in which they are made."""
    return tuple(move for move in MOVES if any(_asks_for(move, change) for change in changes))


def others(move: Move, changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes that are neither the move nor allowed together with it."""
    allowed = (move.path, *move.together)
    return tuple(each for each in changes if not each.path.startswith(allowed))


def _asks_for(move: Move, change: Change) -> bool:
    return change.path == move.path and change.old == move.begins


def strategy_in_the_way(
    move: Move, before: str | None, after: str | None, *, jobs: bool, customer: bool = False
) -> Iterator[str]:
    """Yield why jobs must end first, or the move is impossible."""
    if move is API_DRIVEN and jobs and after != "Merge":
        yield (
            f"jobs are running, and the strategy is {after or 'not set'}: AWS asks to drain the "
            "partitions first unless it is Merge, and its pages disagree on the default\n"
            "  fix: set slurm.config_strategy: Merge, or wait until no job runs"
        )
    if move is RECORDS and customer:
        yield (
            "in customer mode the scripts set up the database, and records are left behind\n"
            "  fix: move to HyperPod's Slurm first, then to continuous provisioning"
        )
    if move is CONTINUOUS and before in {"Managed", "Overwrite"}:
        yield (
            f"the cluster has the strategy {before}, and continuous provisioning requires Merge\n"
            "  fix: deploy with slurm.config_strategy: Merge first"
        )
