"""AWS::Lambda::Function. The embedded AWS keeps functions; it does not run them.

What the CDK's own functions do for custom resources is done by the providers of those resources.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONFIGURATION = (
    "Description",
    "Environment",
    "EphemeralStorage",
    "Handler",
    "Layers",
    "LoggingConfig",
    "MemorySize",
    "Role",
    "Runtime",
    "Timeout",
)


class Function(Provider):
    """A Lambda function with its code from S3 or from the template."""

    type = "AWS::Lambda::Function"
    supported = frozenset({*_CONFIGURATION, "Architectures", "Code", "FunctionName", "Tags"})
    in_place = frozenset({*_CONFIGURATION, "Code", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the function."""
        name = str(request.properties.get("FunctionName") or request.generated_name())
        request.aws.service("lambda").create_function(
            FunctionName=name,
            Code=_code(request.properties),
            Tags=_tags(request.properties),
            **request.given(*_CONFIGURATION, "Architectures"),
        )
        return name

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the ARN."""
        found = request.aws.service("lambda").get_function(FunctionName=physical_id)
        return {"Arn": found["Configuration"]["FunctionArn"]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Replace code, configuration and tags."""
        client = request.aws.service("lambda")
        client.update_function_code(FunctionName=physical_id, **_code(request.properties))
        client.update_function_configuration(
            FunctionName=physical_id, **request.given(*_CONFIGURATION)
        )
        arn = self.attributes(request, physical_id)["Arn"]
        client.untag_resource(Resource=arn, TagKeys=sorted(_tags(previous)))
        client.tag_resource(Resource=arn, Tags=_tags(request.properties))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the function."""
        request.aws.service("lambda").delete_function(FunctionName=physical_id)


def _code(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the API's Code; text in the template becomes an archive with one file."""
    code = dict(properties["Code"])
    if "ZipFile" not in code:
        return code
    suffix = "py" if str(properties.get("Runtime", "")).startswith("python") else "js"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zip_file:
        zip_file.writestr(zipfile.ZipInfo(f"index.{suffix}"), code["ZipFile"])
    return {"ZipFile": archive.getvalue()}


def _tags(properties: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
