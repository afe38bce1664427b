"""AWS::ECR::Repository, which every CDK bootstrap stack has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Repository(Provider):
    """A repository for container images."""

    type = "AWS::ECR::Repository"
    supported = frozenset(
        {
            "ImageScanningConfiguration",
            "ImageTagMutability",
            "LifecyclePolicy",
            "RepositoryName",
            "RepositoryPolicyText",
            "Tags",
        }
    )
    in_place = frozenset({"LifecyclePolicy", "RepositoryPolicyText"})

    def create(self, request: ResourceRequest) -> str:
        """Create the repository."""
        name = request.properties.get("RepositoryName") or request.generated_name(256).lower()
        given = request.given("ImageTagMutability", "Tags")
        if "ImageScanningConfiguration" in request.properties:
            scan = request.properties["ImageScanningConfiguration"].get("ScanOnPush", False)
            given["imageScanningConfiguration"] = {"scanOnPush": scan}
        request.aws.service("ecr").create_repository(
            repositoryName=name, **{key[0].lower() + key[1:]: value for key, value in given.items()}
        )
        return str(name)

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Put the policies that the template gives."""
        ecr = request.aws.service("ecr")
        if "LifecyclePolicy" in request.properties:
            ecr.put_lifecycle_policy(
                repositoryName=physical_id,
                lifecyclePolicyText=request.properties["LifecyclePolicy"]["LifecyclePolicyText"],
            )
        if "RepositoryPolicyText" in request.properties:
            ecr.set_repository_policy(
                repositoryName=physical_id,
                policyText=json.dumps(request.properties["RepositoryPolicyText"]),
            )

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up ARN and address."""
        found = request.aws.service("ecr").describe_repositories(repositoryNames=[physical_id])
        repository = found["repositories"][0]
        return {"Arn": repository["repositoryArn"], "RepositoryUri": repository["repositoryUri"]}

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Put the policies anew."""
        self.complete(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the repository; ECR refuses while there is an image in it."""
        request.aws.service("ecr").delete_repository(repositoryName=physical_id)
