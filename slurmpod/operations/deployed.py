"""What is deployed of an environment, as its last deployment wrote it down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.deployment_record import read_record, record_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.aws.account import AwsAccount
    from slurmpod.model.environment import Environment


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


def require_account(account: AwsAccount, environment: Environment) -> None:
    """Make sure that the credentials belong to the environment's account; else AwsUnavailable."""
    found = account.id()
    if found != environment.account:
        raise AwsUnavailable(
            f"the credentials belong to account {found}, the environment to {environment.account}"
        )
