"""AWS::SSM::Document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest
from slurmpod.rehearsal.cloud.resources.schemas import differs_at
from slurmpod.rehearsal.cloud.resources.tags import tag_changes

if TYPE_CHECKING:
    from collections.abc import Mapping

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


class Document(Provider):
    """A document; Ref gives its name.

    Changed content becomes a new version, or replaces the document where `UpdateMethod` does not
    say NewVersion.
    """

    type = "AWS::SSM::Document"
    supported = frozenset(
        {"Content", "DocumentFormat", "DocumentType", "Name", "Tags", "UpdateMethod"}
    )
    in_place = supported - {"DocumentType", "Name"}

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Tell whether the change makes another document."""
        if super().replaces(old, new):
            return True
        return new.get("UpdateMethod") != _NEW_VERSION and differs_at(
            old, new, _REPLACED_BY_DEFAULT
        )

    def create(self, request: ResourceRequest) -> str:
        """Create the document."""
        name = str(request.properties.get("Name") or request.generated_name(128))
        request.aws.service("ssm").create_document(
            Name=name,
            Content=_content(request.properties),
            **request.given("DocumentFormat", "DocumentType", "Tags"),
        )
        return name

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Make a new version the default one, and set the tags anew."""
        ssm = request.aws.service("ssm")
        if differs_at(previous, request.properties, _REPLACED_BY_DEFAULT):
            described = ssm.update_document(
                Name=physical_id,
                Content=_content(request.properties),
                DocumentVersion="$LATEST",
                **request.given("DocumentFormat"),
            )["DocumentDescription"]
            ssm.update_document_default_version(
                Name=physical_id, DocumentVersion=described["DocumentVersion"]
            )
        gone, tags = tag_changes(previous, request.properties)
        if gone:
            ssm.remove_tags_from_resource(
                ResourceType="Document", ResourceId=physical_id, TagKeys=gone
            )
        if tags:
            ssm.add_tags_to_resource(ResourceType="Document", ResourceId=physical_id, Tags=tags)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete all versions."""
        request.aws.service("ssm").delete_document(Name=physical_id)


def _content(properties: Mapping[str, Any]) -> str:
    """Return the content as text; raises ProviderError for a session document AWS refuses."""
    content = properties["Content"]
    parsed = json.loads(content) if isinstance(content, str) else content
    if properties.get("DocumentType") == "Session":
        unknown = sorted(parsed.get("inputs", {}).keys() - _SESSION_INPUTS)
        if parsed.get("schemaVersion") != "1.0" or unknown:
            what = f"unknown inputs {', '.join(unknown)}" if unknown else "schemaVersion is not 1.0"
            raise ProviderError(f"Invalid session document: {what}")
    return json.dumps(parsed)
