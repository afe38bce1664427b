"""Lambda: functions, layers and permissions.

The CDK's own functions for custom resources do not run; providers do their work.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.tags import Tagging
from embedded_aws.templates.intrinsics import as_text

_CONFIGURATION = frozenset(
    {
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
    }
)


class Function(ApiResource):
    """A Lambda function with its code from S3 or from the template."""

    type = "AWS::Lambda::Function"
    in_place = _CONFIGURATION | {"Code", "Tags"}
    supported = in_place | {"Architectures", "FunctionName"}
    service = "lambda"
    creation, deletion = "create_function", "delete_function"
    change = "update_function_configuration"
    identity = "FunctionName"
    naming = Naming("FunctionName")
    described_by = DescribeCall("get_function", "FunctionName", ("Configuration",))
    read_attributes: ClassVar = {"Arn": ("FunctionArn",)}
    tagging = Tagging("Resource", by_attribute="Arn", write=dict)

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, with the code in the API's form."""
        return {**super().arguments(request), "Code": _code(request.properties)}

    def changes(self, request: ResourceRequest, previous: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration; code has a separate call."""
        return self.written(request.given(*sorted(_CONFIGURATION)))

    def written(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return properties in the calls' form: every variable is text."""
        written = super().written(properties)
        if "Environment" in written:
            variables = written["Environment"].get("Variables", {})
            texts = {name: as_text(value) for name, value in variables.items()}
            written["Environment"] = {"Variables": texts}
        return written

    def actual(self, request: ResourceRequest, physical_id: str) -> dict[str, Any] | None:
        """Return the configuration, with layers as ARNs."""
        actual = super().actual(request, physical_id) or {}
        if "Layers" in actual:
            actual["Layers"] = [layer["Arn"] for layer in actual["Layers"]]
        return actual

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Replace code, configuration and tags."""
        code = {"FunctionName": physical_id, **_code(request.properties)}
        self.call(request, "update_function_code", code)
        super().update(request, physical_id, previous)


class LayerVersion(ApiResource):
    """One version of a layer; Ref gives its ARN."""

    type = "AWS::Lambda::LayerVersion"
    supported = frozenset(
        {
            "CompatibleArchitectures",
            "CompatibleRuntimes",
            "Content",
            "Description",
            "LayerName",
            "LicenseInfo",
        }
    )
    service = "lambda"
    creation, deletion = "publish_layer_version", "delete_layer_version"
    answer = ("LayerVersionArn",)
    naming = Naming("LayerName")
    id_attributes = ("LayerVersionArn",)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the version."""
        name, version = physical_id.split(":")[-2:]
        self.call(request, self.deletion, {"LayerName": name, "VersionNumber": int(version)})


class Permission(ApiResource):
    """A statement in the policy of a function; every change replaces it."""

    type = "AWS::Lambda::Permission"
    supported = frozenset({"Action", "FunctionName", "Principal", "SourceAccount", "SourceArn"})
    service = "lambda"
    creation, deletion = "add_permission", "remove_permission"
    identity = "StatementId"
    naming = Naming("StatementId", 100)
    id_attributes = ("Id",)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Remove the statement."""
        statement = {"StatementId": physical_id, **request.given("FunctionName")}
        self.call(request, self.deletion, statement)


def _code(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the API's Code; inline code becomes an archive with Lambda's additions."""
    code = dict(properties["Code"])
    if "ZipFile" not in code:
        return code
    if str(properties.get("Runtime", "")).startswith("python"):
        own, folder, answers = "index.py", "", files("embedded_aws.functions") / "cfnresponse.py"
    else:
        own, folder = "index.js", "node_modules/"
        answers = files("embedded_aws") / "data" / "cfn-response.js"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zip_file:
        zip_file.writestr(zipfile.ZipInfo(own), code["ZipFile"])
        zip_file.writestr(zipfile.ZipInfo(folder + answers.name), answers.read_bytes())
    return {"ZipFile": archive.getvalue()}
