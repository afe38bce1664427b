"""The deployed state of an environment; read only here, so that all commands agree.

That is its existing stacks, and the environment as its last deployment recorded it.

The record is in the parameter store, and is deleted with the cluster's stack. CloudFormation keeps
the templates of deleted stacks for 90 days (AWS CloudFormation API reference, GetTemplate): the
record is read from there until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.deployment import Deployment
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.inventory import AccountInventory
from slurmpod.aws.stack import Stack
from slurmpod.deployment_record import read_record, record_folder
from slurmpod.environment.environment import Environment
from slurmpod.operations.retained import RememberedStack, remembered_stacks
from slurmpod.resolve import Resolved
from slurmpod.resolve.stacks import all_stack_names

PARAMETER = "AWS::SSM::Parameter"


@dataclass(frozen=True)
class Deployed:
    """The environment of the last deployment, as plain data, and the existing stacks.

    `record` is None if it is lost. Without a cluster it is that of the last one.
    """

    record: Mapping[str, Any] | None
    stacks: tuple[str, ...]
    has_cluster: bool


@dataclass(frozen=True)
class LiveEnvironment:
    """The state of an environment; each query raises AwsUnavailable without an answer."""

    clients: AwsClients
    resolved: Resolved

    def stacks(self) -> tuple[Stack, ...]:
        """Return the existing stacks of those in the file, in their order."""
        return Deployment(self.clients).stacks(self.resolved.stacks.in_order())

    def statuses(self) -> Mapping[str, str]:
        """Return the status of each of these stacks, before a deployment."""
        return Deployment(self.clients).statuses(self.resolved.stacks.in_order())

    def all_stacks(self) -> tuple[Stack, ...]:
        """Return the stacks of every environment with this name, in the file or not."""
        return Deployment(self.clients).stacks(all_stack_names(self.resolved.name))

    def outputs(self, stack: str | None) -> Mapping[str, str]:
        """Return a stack's outputs; none if it does not exist."""
        return next((each.outputs for each in self.stacks() if each.name == stack), {})

    def environment(self) -> Deployed | None:
        """Return the environment of the last deployment; None if no stack is left.

        Also raises AwsUnavailable for credentials of another account, and a record changed by hand.
        """
        account, inventory = AwsAccount(self.clients), AccountInventory(self.clients)
        return deployed_environment(account, inventory, self.resolved)


def deployed_environment(
    account: AwsAccount, inventory: AccountInventory, resolved: Resolved
) -> Deployed | None:
    """Return the deployed state; None if no stack is left, or ever existed.

    Raises:
        AwsUnavailable: AWS does not answer, the credentials belong to another account, or the
            record was changed by hand.
    """
    require_account(account, resolved.environment)
    folder = record_folder(resolved.name)
    stacks = tuple(each.name for each in LiveEnvironment(account.clients, resolved).stacks())
    if parameters := account.parameters(folder):
        return Deployed(_read(parameters, folder), stacks, has_cluster=True)
    if not stacks:
        return None
    history = remembered_stacks(inventory, [resolved.stacks.cluster])
    recorded = next(filter(None, (recorded_by(each, folder) for each in history)), None)
    record = _read(recorded, folder) if recorded else None
    return Deployed(record, stacks, has_cluster=False)


def recorded_by(remembered: RememberedStack, folder: str) -> Mapping[str, str] | None:
    """Return the record of a stack by parameter name.

    None for a stack that was never complete: its record was never in effect.
    """
    made = {each.logical_id for each in remembered.resources if each.physical_id}
    entries = {
        logical_id: entry["Properties"]
        for logical_id, entry in remembered.template.get("Resources", {}).items()
        if entry["Type"] == PARAMETER and entry["Properties"]["Name"].startswith(f"{folder}/")
    }
    if not entries or not entries.keys() <= made:
        return None
    return {each["Name"]: each["Value"] for each in entries.values()}


def require_account(account: AwsAccount, environment: Environment) -> None:
    """Check that the credentials belong to the environment's account; else AwsUnavailable."""
    found = account.id()
    if found != environment.account:
        raise AwsUnavailable(
            f"the credentials belong to account {found}, the environment to {environment.account}"
        )


def _read(parameters: Mapping[str, str], folder: str) -> Mapping[str, Any]:
    try:
        return read_record(parameters)
    except ValueError as error:
        raise AwsUnavailable(f"the parameters below {folder} cannot be read: {error}") from error
