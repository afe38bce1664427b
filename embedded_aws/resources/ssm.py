"""Systems Manager: documents and parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from embedded_aws.resources.api_resource import ApiResource, Naming
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.schemas import differs_at
from embedded_aws.resources.tags import Tagging

_NEW_VERSION = "NewVersion"
_REPLACED_BY_DEFAULT = (("Content",), ("DocumentFormat",))
_SESSION_INPUTS = frozenset(
    {
        "cloudWatchEncryptionEnabled",
        "cloudWatchLogGroupName",
        "cloudWatchStreamingEnabled",
        "idleSessionTimeout",
        "kmsKeyId",
        "maxSessionDuration",
        "runAsDefaultUser",
        "runAsEnabled",
        "s3BucketName",
        "s3EncryptionEnabled",
        "s3KeyPrefix",
        "shellProfile",
    }
)
"""Systems Manager user guide, "Session document schema"."""


def _tagging(kind: str) -> Tagging:
    return Tagging(
        "ResourceId",
        tag="add_tags_to_resource",
        untag="remove_tags_from_resource",
        further={"ResourceType": kind},
    )


class Document(ApiResource):
    """A document; Ref gives its name.

    Changed content becomes a new version if `UpdateMethod` is NewVersion, and otherwise replaces
    the document.
    """

    type = "AWS::SSM::Document"
    supported = frozenset(
        {"Content", "DocumentFormat", "DocumentType", "Name", "Tags", "UpdateMethod"}
    )
    in_place = supported - {"DocumentType", "Name"}
    apart = frozenset({"UpdateMethod"})
    service = "ssm"
    creation, deletion = "create_document", "delete_document"
    identity = "Name"
    naming = Naming("Name", 128)
    tagging = _tagging("Document")

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Return whether the change replaces the document."""
        if super().replaces(old, new):
            return True
        return new.get("UpdateMethod") != _NEW_VERSION and differs_at(
            old, new, _REPLACED_BY_DEFAULT
        )

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, with the content as text."""
        return {**super().arguments(request), "Content": _content(request.properties)}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Create a new default version, and update the tags."""
        if differs_at(previous, request.properties, _REPLACED_BY_DEFAULT):
            ssm = request.aws.service("ssm")
            described = ssm.update_document(
                Name=physical_id,
                Content=_content(request.properties),
                DocumentVersion="$LATEST",
                **request.given("DocumentFormat"),
            )["DocumentDescription"]
            ssm.update_document_default_version(
                Name=physical_id, DocumentVersion=described["DocumentVersion"]
            )
        super().update(request, physical_id, previous)


class Parameter(ApiResource):
    """A parameter in Parameter Store."""

    type = "AWS::SSM::Parameter"
    in_place = frozenset({"Description", "Tags", "Type", "Value"})
    supported = in_place | {"Name"}
    maps_tags = True
    service = "ssm"
    creation = change = "put_parameter"
    deletion = "delete_parameter"
    identity = "Name"
    naming = Naming("Name")
    given_attributes = ("Type", "Value")
    tagging = _tagging("Parameter")
    tags_at_creation = None

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the tags: PutParameter rejects tags when it overwrites."""
        self.retag(request, physical_id, {})

    def changes(self, request: ResourceRequest, previous: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameter's arguments without tags."""
        return {**super().changes(request, previous), "Overwrite": True}


def _content(properties: Mapping[str, Any]) -> str:
    """Return the content as text; raises ProviderError for an invalid session document."""
    content = properties["Content"]
    parsed = json.loads(content) if isinstance(content, str) else content
    if properties.get("DocumentType") == "Session":
        unknown = sorted(parsed.get("inputs", {}).keys() - _SESSION_INPUTS)
        if parsed.get("schemaVersion") != "1.0" or unknown:
            what = f"unknown inputs {', '.join(unknown)}" if unknown else "schemaVersion is not 1.0"
            raise ProviderError(f"Invalid session document: {what}")
    return json.dumps(parsed)
