"""What of an environment can be destroyed now, and what has to go before the rest can.

A file system that outlives its stack lives in the network, and so do a database and a notebook
instance that are kept: CloudFormation cannot delete subnets in use.
"""

from __future__ import annotations

from dataclasses import dataclass

from slurmpod.aws.inventory import AccountInventory
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.resolve import Resolved
from slurmpod.resolve.environment import ENVIRONMENT_TAG

DATABASE = "AWS::RDS::DBInstance"
NOTEBOOK = "AWS::SageMaker::NotebookInstance"


@dataclass(frozen=True)
class DestroyPlan:
    """The stacks to destroy, the last deployed first; the network's is the last, and may be kept.

    `holders` are what keeps it: ids of file systems and databases, the ARN of a notebook.
    `unknown` are stacks that the file no longer describes.
    """

    stacks: tuple[str, ...]
    network: str
    holders: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def is_nothing(self) -> bool:
        """Return whether there is no stack that could go."""
        return not self.stacks and (not self.network or bool(self.holders))


def plan_destroy(live: LiveEnvironment, inventory: AccountInventory, only: str = "") -> DestroyPlan:
    """Find the stacks that are there, and what stays in the network; raises AwsUnavailable."""
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
    """Return what is left of an environment in its network; raises AwsUnavailable."""
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
