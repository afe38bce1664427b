"""The deployed environment, as its last deployment wrote it down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.deployment import Deployment
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.deploy.deployment_record import read_record, record_folder
from slurmpod.environment.environment import Environment
from slurmpod.resolve import Resolved


def deployed_environment(account: AwsAccount, environment: Environment) -> Mapping[str, Any] | None:
    """Return the environment as it was deployed last, as plain data; None if it never was.

    Raises:
        AwsUnavailable: AWS cannot be asked, the credentials belong to another account, or the
            record was changed by hand.
    """
    require_account(account, environment)
    folder = record_folder(environment.name)
    parameters = account.parameters(folder)
    if not parameters:
        return None
    try:
        return read_record(parameters)
    except ValueError as error:
        raise AwsUnavailable(f"the parameters below {folder} cannot be read: {error}") from error


def stacks_left(account: AwsAccount, resolved: Resolved) -> tuple[str, ...]:
    """Return the environment's stacks that are there, in the order in which they are deployed.

    The record goes with the cluster's stack; the others, with the data, may be there without it.
    """
    found = Deployment(account.clients).stacks(resolved.stacks.in_order())
    return tuple(stack.name for stack in found)


def require_account(account: AwsAccount, environment: Environment) -> None:
    """Make sure that the credentials belong to the environment's account; else AwsUnavailable."""
    found = account.id()
    if found != environment.account:
        raise AwsUnavailable(
            f"the credentials belong to account {found}, the environment to {environment.account}"
        )
