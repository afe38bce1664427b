"""What CloudWatch Logs asks of a key before it encrypts with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from slurmpod.rehearsal.cloud.resources.provider import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.clients import Clients


def require_usable_key(aws: Clients, key: str, log_group_name: str) -> None:
    """Raise ProviderError, with the service's words, unless the key's policy names the service.

    Conditions of the policy are not looked at.
    """
    try:
        answer = aws.service("kms").get_key_policy(KeyId=key, PolicyName="default")
        statements = json.loads(answer["Policy"])["Statement"]
    except ClientError:
        statements = []
    if not any(_lets_logs_encrypt(statement) for statement in statements):
        arn = f"arn:{aws.partition}:logs:{aws.region}:{aws.account}:log-group:{log_group_name}"
        raise ProviderError(
            f"The specified KMS key does not exist or is not allowed to be used with Arn '{arn}'"
        )


def _lets_logs_encrypt(statement: Mapping[str, Any]) -> bool:
    principal = statement.get("Principal", {})
    services = _listed(principal.get("Service", []) if isinstance(principal, dict) else [])
    actions = _listed(statement.get("Action", []))
    return (
        statement["Effect"] == "Allow"
        and any(service.startswith("logs.") for service in services)
        and any(action.startswith(("kms:*", "kms:Encrypt")) for action in actions)
    )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
