"""Destroying an environment: what can be deleted now, what blocks the rest, and doing it.

A file system that outlives its stack is in the network, and so are a retained database and notebook
instance: CloudFormation cannot delete subnets in use.
"""

from __future__ import annotations

from dataclasses import dataclass

from slurmpod.aws.errors import AwsUnavailable, code_of
from slurmpod.aws.inventory import AccountInventory
from slurmpod.aws.live_nodes import LiveNodes
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.operations.slurm_remote import RemoteSlurm
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved
from slurmpod.resolve.database import records_key
from slurmpod.resolve.environment import ENVIRONMENT_TAG

DATABASE = "AWS::RDS::DBInstance"
NOTEBOOK = "AWS::SageMaker::NotebookInstance"
NO_CLUSTER = "ResourceNotFound"


@dataclass(frozen=True)
class DestroyPlan:
    """The stacks to destroy, in reverse order of deployment; the network's is last, and may stay.

    `holders` are what keeps it: ids of file systems and databases, the ARN of a notebook.
    `unknown` are stacks that the file no longer describes.
    """

    stacks: tuple[str, ...]
    network: str
    holders: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def is_nothing(self) -> bool:
        """Return whether no stack can be deleted."""
        return not self.stacks and (not self.network or bool(self.holders))


def plan_destroy(live: LiveEnvironment, inventory: AccountInventory, only: str = "") -> DestroyPlan:
    """Find existing stacks, and resources that stay in the network; raises AwsUnavailable."""
    resolved, there = live.resolved, [each.name for each in live.all_stacks()]
    names = resolved.stacks
    doomed = [each for each in reversed(names.in_order()) if each in there and only in ("", each)]
    network = names.network if names.network in doomed else None
    holding = {names.storage, names.database, names.notebook}
    goes = bool(holding & set(doomed)) and not _keeps_data(resolved)
    return DestroyPlan(
        stacks=tuple(name for name in doomed if name != network),
        network=network or "",
        holders=() if goes or not network else in_the_network(inventory, resolved),
        unknown=tuple(name for name in there if name not in names.in_order()),
    )


def in_the_network(inventory: AccountInventory, resolved: Resolved) -> tuple[str, ...]:
    """Return the resources that are left in its network; raises AwsUnavailable."""
    found = [
        each.file_system_id
        for each in inventory.file_systems()
        if each.tags.get(ENVIRONMENT_TAG) == resolved.name
    ]
    database = resolved.database.new if resolved.database else None
    if database and inventory.is_there(DATABASE, database.identifier):
        found.append(database.identifier)
    if resolved.notebook:
        arn = resolved.arn("sagemaker", f"notebook-instance/{resolved.notebook.name}")
        found += [arn] if inventory.is_there(NOTEBOOK, arn) else []
    return tuple(found)


def _keeps_data(resolved: Resolved) -> bool:
    settings = [each.settings for each in resolved.lustre]
    made = [each.on_delete for each in settings if not each.existing]
    if resolved.openzfs and not resolved.openzfs.settings.existing:
        made.append(resolved.openzfs.settings.on_delete)
    if resolved.database and resolved.database.new:
        made.append("retain" if resolved.database.new.settings.on_delete == "retain" else "delete")
    if resolved.notebook:
        made.append(resolved.notebook.settings.on_delete)
    return "retain" in made


def destroy(work: StackWork, inventory: AccountInventory, only: str) -> None:
    """Destroy the stacks, and the network's once it is empty; raises StacksFailed.

    Waits first for CloudFormation's current work, which may have deleted some of them.
    """
    work.settle()
    plan = plan_destroy(work.live, inventory, only)
    if plan.is_nothing:
        return
    if work.resolved.stacks.cluster in plan.stacks and records_key(work.resolved):
        _save_records(work)
    work.run("templates synthesized", work.cdk.synthesize(work.file))
    if plan.stacks:
        work.run("stacks destroyed", work.cdk.destroy(plan.stacks))
    if plan.network and not in_the_network(inventory, work.resolved):
        work.run("network destroyed", work.cdk.destroy([plan.network]))


def _save_records(work: StackWork) -> None:
    """Save the controller's job records, which are lost with its disk.

    A stack may exist without its cluster: after a rollback, or a failed deletion.

    Raises:
        WorkFailed: There is no copy: nothing has been destroyed.
    """
    resolved, nodes = work.resolved, work.nodes
    try:
        live = LiveNodes(nodes.clients, resolved.name).all()
        with work.progress.stage("job records saved"):
            RemoteSlurm.of(resolved, nodes, live, NodeSessions(nodes.clients)).save_records()
    except AwsUnavailable as error:
        if code_of(error) == NO_CLUSTER:
            work.progress.note(
                f"{resolved.name} has no cluster, so that there are no job records to save"
            )
            return
        raise WorkFailed(
            f"nothing was destroyed, as the job records could not be saved: {error}\n"
            "  fix: repair it, or remove slurm.records_backup to destroy without a copy"
        ) from error
