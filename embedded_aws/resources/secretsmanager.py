"""Secrets Manager: secrets, given or generated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.tags import Tagging

_TEMPLATE, _KEY = "SecretStringTemplate", "GenerateStringKey"


class Secret(ApiResource):
    """A secret, given or generated; Ref gives its ARN."""

    type = "AWS::SecretsManager::Secret"
    supported = frozenset(
        {"Description", "GenerateSecretString", "KmsKeyId", "Name", "SecretString", "Tags"}
    )
    in_place = supported - {"Name"}
    apart = frozenset({"GenerateSecretString", "SecretString"})
    service = "secretsmanager"
    creation, change, deletion = "create_secret", "update_secret", "delete_secret"
    identity = "SecretId"
    answer = ("ARN",)
    naming = Naming("Name")
    described_by = DescribeCall("describe_secret", "SecretId")
    id_attributes = ("Id",)
    tagging = Tagging("SecretId")

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, with the given value or a new password."""
        return {**super().arguments(request), "SecretString": _value(request)}

    def changes(self, request: ResourceRequest, previous: Mapping[str, Any]) -> dict[str, Any]:
        """Return description and key; the value only if its properties change."""
        changed = any(previous.get(name) != request.properties.get(name) for name in self.apart)
        return {
            "Description": "",
            **super().changes(request, previous),
            **({"SecretString": _value(request)} if changed else {}),
        }

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the secret immediately, as CloudFormation does (user guide, DeletionPolicy)."""
        at_once = {"SecretId": physical_id, "ForceDeleteWithoutRecovery": True}
        self.call(request, self.deletion, at_once)


def _value(request: ResourceRequest) -> str:
    """Return the given value, or a new password, alone or under its key in a JSON object."""
    rules = dict(request.properties.get("GenerateSecretString", {}))
    if "SecretString" in request.properties:
        return str(request.properties["SecretString"])
    template, key = rules.pop(_TEMPLATE, None), rules.pop(_KEY, None)
    secrets = request.aws.service("secretsmanager")
    password = str(secrets.get_random_password(**rules)["RandomPassword"])
    if template is None:
        return password
    return json.dumps({**json.loads(template), key: password})
