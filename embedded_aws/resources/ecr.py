"""ECR: repositories; every CDK bootstrap stack has one."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming, lower_camel
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.tags import Tagging


class Repository(ApiResource):
    """A repository for container images; ECR refuses to delete it while it has images."""

    type = "AWS::ECR::Repository"
    in_place = frozenset({"LifecyclePolicy", "RepositoryPolicyText"})
    apart = in_place | {"ImageScanningConfiguration"}
    supported = apart | {"ImageTagMutability", "RepositoryName", "Tags"}
    renamed: ClassVar = {name: lower_camel(name) for name in supported}
    service = "ecr"
    creation, deletion = "create_repository", "delete_repository"
    identity = "repositoryName"
    naming = Naming("RepositoryName", 256, lower=True)
    described_by = DescribeCall("describe_repositories", "repositoryNames", ("repositories", 0))
    read_attributes: ClassVar = {"Arn": ("repositoryArn",), "RepositoryUri": ("repositoryUri",)}
    tagging = Tagging("resourceArn", by_attribute="Arn", keys="tagKeys", tags="tags")
    tags_at_creation = "tags"

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, with image scanning in the API's spelling."""
        arguments = super().arguments(request)
        if "ImageScanningConfiguration" in request.properties:
            scan = request.properties["ImageScanningConfiguration"].get("ScanOnPush", False)
            arguments["imageScanningConfiguration"] = {"scanOnPush": scan}
        return arguments

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Put the policies of the template."""
        ecr, properties = request.aws.service("ecr"), request.properties
        if "LifecyclePolicy" in properties:
            text = properties["LifecyclePolicy"]["LifecyclePolicyText"]
            ecr.put_lifecycle_policy(repositoryName=physical_id, lifecyclePolicyText=text)
        if "RepositoryPolicyText" in properties:
            policy = json.dumps(properties["RepositoryPolicyText"])
            ecr.set_repository_policy(repositoryName=physical_id, policyText=policy)
