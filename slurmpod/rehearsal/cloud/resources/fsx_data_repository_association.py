"""AWS::FSx::DataRepositoryAssociation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.api_resource import ApiResource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest


class DataRepositoryAssociation(ApiResource):
    """The link between a folder of a Lustre file system and a bucket."""

    type = "AWS::FSx::DataRepositoryAssociation"
    supported = frozenset(
        {
            "BatchImportMetaDataOnCreate",
            "DataRepositoryPath",
            "FileSystemId",
            "FileSystemPath",
            "ImportedFileChunkSize",
            "S3",
            "Tags",
        }
    )
    in_place = frozenset({"ImportedFileChunkSize", "S3", "Tags"})
    service = "fsx"
    creation = "create_data_repository_association"
    change = "update_data_repository_association"
    deletion = "delete_data_repository_association"
    identity = "AssociationId"
    tagged_by = "ResourceARN"
    arn_attribute = "ResourceARN"

    def identify(self, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> str:  # noqa: ARG002
        """Return the id that FSx gave."""
        return str(answer["Association"]["AssociationId"])

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the ARN."""
        (found,) = request.aws.fsx.describe_data_repository_associations(
            AssociationIds=[physical_id]
        )["Associations"]
        return {"AssociationId": physical_id, "ResourceARN": found["ResourceARN"]}
