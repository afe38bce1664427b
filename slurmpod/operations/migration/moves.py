"""The moves: their steps, what becomes of nodes and jobs, and who says so.

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
    """A move: the field that asks for it, its steps in order, what may change together with it.

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
        "run the new scripts on the nodes that are there",
        "compare jobs, queue, records, users and nodes with what they were",
    ),
    "no node is replaced or restarted; jobs go on; submit none meanwhile. Nodes that are there "
    "keep what their OnCreate scripts did; new ones are set up by HyperPod, then by the scripts",
    effect_of(Lifecycle.model_fields["mode"]),
    "customer",
    (STRATEGY, "lifecycle."),
)
CONTINUOUS = Move(
    "continuous",
    PROVISIONING,
    "HyperPod brings nodes up one by one, and goes on asking for those that it lacks",
    (
        "copy slurm.conf and what it includes to this machine",
        "sagemaker:UpdateCluster, by CloudFormation: NodeProvisioningMode Continuous",
        "compare jobs, queue, records, users and nodes with what they were",
    ),
    "no page says what becomes of nodes and jobs; in a rehearsal all go on. The cluster stays "
    "InService from then on while it scales, and each instance is billed for itself",
    effect_of(Cluster.model_fields["provisioning"]),
    "standard",
    (STRATEGY,),
)
RECORDS = Move(
    "records",
    DATABASE,
    "job records go to a database outside the cluster, with those that there are",
    (
        "copy slurm.conf and what it includes to this machine",
        "deploy all stacks but the cluster's: the controller may read the secret then",
        "stop slurmdbd on the controller; slurmctld keeps what happens, and sends it later",
        "copy the records into the other database, which has to be empty, and count the rows",
        "sagemaker:UpdateCluster, by CloudFormation: AccountingDatabase; slurmdbd starts with it",
        "run the new scripts on the nodes that are there",
        "compare jobs, queue, records, users and nodes with what they were",
    ),
    "jobs go on, and are submitted and started; sacct and sacctmgr do not answer while slurmdbd is "
    "stopped. The records on the controller stay there, unused",
    Effect(
        Kind.LOSES,
        "the way back",
        source='SageMaker developer guide, "Using an external accounting database with SageMaker '
        'HyperPod Slurm clusters": no way back, continuous provisioning, images after August 30, '
        "2026",
        doubt="whether HyperPod starts slurmdbd by itself while it is stopped: what it would write "
        "then stays behind",
    ),
    None,
)
MOVES = (API_DRIVEN, CONTINUOUS, RECORDS)


def moves_in(changes: Sequence[Change]) -> tuple[Move, ...]:
    """Return the moves that changes ask for, in the order in which they are made."""
    return tuple(move for move in MOVES if any(_asks_for(move, change) for change in changes))


def others(move: Move, changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes that are neither the move nor may be made together with it."""
    allowed = (move.path, *move.together)
    return tuple(each for each in changes if not each.path.startswith(allowed))


def _asks_for(move: Move, change: Change) -> bool:
    return change.path == move.path and change.old == move.begins


def strategy_in_the_way(
    move: Move, before: str | None, after: str | None, *, jobs: bool, customer: bool = False
) -> Iterator[str]:
    """Yield why jobs would have to end first, or the move could not be made at all."""
    if move is API_DRIVEN and jobs and after != "Merge":
        yield (
            f"jobs run, and the strategy is {after or 'not written'}: AWS asks to drain the "
            "partitions first unless it is Merge, and its pages disagree on the default\n"
            "  fix: write slurm.config_strategy: Merge, or wait until no job runs"
        )
    if move is RECORDS and customer:
        yield (
            "in customer mode the scripts set the database up, and records stay behind\n"
            "  fix: move to HyperPod's Slurm first, then to continuous provisioning"
        )
    if move is CONTINUOUS and before in {"Managed", "Overwrite"}:
        yield (
            f"the cluster has the strategy {before}, and continuous provisioning knows Merge only\n"
            "  fix: deploy with slurm.config_strategy: Merge first"
        )
