"""Dynamic references: values of Parameter Store and Secrets Manager in properties of resources.

They are resolved when a resource is created or changed, so that a stack compares references, not
values. Source: CloudFormation user guide, "Get values stored in other services using dynamic
references".
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from embedded_aws.clients import Clients
from embedded_aws.resources.provider import ProviderError

_REFERENCE: Final = re.compile(
    r"\{\{resolve:(?:"
    r"(?P<store>ssm|ssm-secure):(?P<name>[^:{}]+)(?::(?P<version>\d+))?|"
    r"secretsmanager:(?P<secret>arn:(?:[^:{}]*:){5}[^:{}]+|[^:{}]+)"
    r"(?::(?P<part>[^:{}]*)(?::(?P<key>[^:{}]*)(?::(?P<stage>[^:{}]*)(?::(?P<id>[^:{}]*))?)?)?)?"
    r")\}\}"
)
_BEGINNING: Final = "{{resolve:"


def with_values(value: Any, aws: Clients) -> Any:
    """Return a resolved value with all dynamic references in it replaced by their values.

    Raises botocore's errors, and ProviderError for a malformed reference.
    """
    if isinstance(value, list):
        return [with_values(item, aws) for item in value]
    if isinstance(value, dict):
        return {key: with_values(item, aws) for key, item in value.items()}
    if not isinstance(value, str) or _BEGINNING not in value:
        return value
    replaced = _REFERENCE.sub(lambda match: _read(match, aws), value)
    if _BEGINNING in replaced:
        raise ProviderError(f"Incorrect format is used in the following dynamic reference: {value}")
    return replaced


def _read(match: re.Match[str], aws: Clients) -> str:
    if match["store"]:
        name = f"{match['name']}:{match['version']}" if match["version"] else match["name"]
        decrypted = match["store"] == "ssm-secure"
        answer = aws.service("ssm").get_parameter(Name=name, WithDecryption=decrypted)
        return str(answer["Parameter"]["Value"])
    chosen = {"VersionStage": match["stage"], "VersionId": match["id"]}
    secret = aws.service("secretsmanager").get_secret_value(
        SecretId=match["secret"], **{name: value for name, value in chosen.items() if value}
    )["SecretString"]
    return str(_member(secret, match["key"]) if match["key"] else secret)


def _member(secret: str, key: str) -> Any:
    """Return the value of a key in a secret, which is a JSON object."""
    try:
        return json.loads(secret)[key]
    except (KeyError, TypeError, ValueError) as error:
        raise ProviderError(
            f"Could not find a value associated with JSONKey {key} in SecretString"
        ) from error
