"""The deployed environment, as its last deployment wrote it down.

The record lies in the parameter store, and goes with the stack of the cluster. CloudFormation keeps
the templates of deleted stacks for 90 days (AWS CloudFormation API reference, GetTemplate): there
it is found until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.deployment import Deployment
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.inventory import AccountInventory
from slurmpod.deploy.deployment_record import read_record, record_folder
from slurmpod.environment.environment import Environment
from slurmpod.operations.leftovers import RememberedStack, remembered_stacks
from slurmpod.resolve import Resolved

PARAMETER = "AWS::SSM::Parameter"


@dataclass(frozen=True)
class Deployed:
    """The environment as it was deployed last, as plain data, and the stacks that are there.

    `record` is None where nobody remembers it. Without a cluster it tells of the last one's time.
    """

    record: Mapping[str, Any] | None
    stacks: tuple[str, ...]
    has_cluster: bool


def deployed_environment(
    account: AwsAccount, inventory: AccountInventory, resolved: Resolved
) -> Deployed | None:
    """Return what is deployed; None where no stack is left, or never was one.

    Raises:
        AwsUnavailable: AWS cannot be asked, the credentials belong to another account, or the
            record was changed by hand.
    """
    require_account(account, resolved.environment)
    folder = record_folder(resolved.name)
    stacks = _stacks(account, resolved)
    if parameters := account.parameters(folder):
        return Deployed(_read(parameters, folder), stacks, has_cluster=True)
    if not stacks:
        return None
    history = remembered_stacks(inventory, [resolved.stacks.cluster])
    recorded = next(filter(None, (recorded_by(each, folder) for each in history)), None)
    record = _read(recorded, folder) if recorded else None
    return Deployed(record, stacks, has_cluster=False)


def recorded_by(remembered: RememberedStack, folder: str) -> Mapping[str, str] | None:
    """Return the record that a stack made, by the names of its parameters.

    None for a stack that was not made completely: it says what nobody had.
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
    """Make sure that the credentials belong to the environment's account; else AwsUnavailable."""
    found = account.id()
    if found != environment.account:
        raise AwsUnavailable(
            f"the credentials belong to account {found}, the environment to {environment.account}"
        )


def _stacks(account: AwsAccount, resolved: Resolved) -> tuple[str, ...]:
    found = Deployment(account.clients).stacks(resolved.stacks.in_order())
    return tuple(stack.name for stack in found)


def _read(parameters: Mapping[str, str], folder: str) -> Mapping[str, Any]:
    try:
        return read_record(parameters)
    except ValueError as error:
        raise AwsUnavailable(f"the parameters below {folder} cannot be read: {error}") from error
