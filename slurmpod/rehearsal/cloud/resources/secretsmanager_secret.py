"""AWS::SecretsManager::Secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest
from slurmpod.rehearsal.cloud.resources.tags import retag_by_arn

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEMPLATE, _KEY = "SecretStringTemplate", "GenerateStringKey"


class Secret(Provider):
    """A secret, given or generated; Ref gives its ARN."""

    type = "AWS::SecretsManager::Secret"
    supported = frozenset(
        {"Description", "GenerateSecretString", "KmsKeyId", "Name", "SecretString", "Tags"}
    )
    in_place = supported - {"Name"}

    def create(self, request: ResourceRequest) -> str:
        """Create the secret."""
        secrets = request.aws.service("secretsmanager")
        name = request.properties.get("Name") or request.generated_name()
        return str(
            secrets.create_secret(
                Name=name,
                SecretString=_value(request),
                **request.given("Description", "KmsKeyId", "Tags"),
            )["ARN"]
        )

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the ARN under its own name."""
        return {"Id": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change description, key and tags; the value only when its own properties change."""
        changed = any(
            previous.get(name) != request.properties.get(name)
            for name in ("GenerateSecretString", "SecretString")
        )
        request.aws.service("secretsmanager").update_secret(
            SecretId=physical_id,
            Description=request.properties.get("Description", ""),
            **request.given("KmsKeyId"),
            **({"SecretString": _value(request)} if changed else {}),
        )
        retag_by_arn("secretsmanager", request, previous, SecretId=physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the secret at once, as CloudFormation does (user guide, DeletionPolicy)."""
        request.aws.service("secretsmanager").delete_secret(
            SecretId=physical_id, ForceDeleteWithoutRecovery=True
        )


def _value(request: ResourceRequest) -> str:
    """Return the given text, or a new password, alone or under its key in a JSON object."""
    rules = dict(request.properties.get("GenerateSecretString", {}))
    if "SecretString" in request.properties:
        return str(request.properties["SecretString"])
    template, key = rules.pop(_TEMPLATE, None), rules.pop(_KEY, None)
    secrets = request.aws.service("secretsmanager")
    password = str(secrets.get_random_password(**rules)["RandomPassword"])
    if template is None:
        return password
    return json.dumps({**json.loads(template), key: password})
