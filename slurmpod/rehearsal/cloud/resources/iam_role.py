"""AWS::IAM::Role."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Role(Provider):
    """A role with the policies that stand in its own properties."""

    type = "AWS::IAM::Role"
    supported = frozenset(
        {
            "AssumeRolePolicyDocument",
            "Description",
            "ManagedPolicyArns",
            "MaxSessionDuration",
            "Path",
            "PermissionsBoundary",
            "Policies",
            "RoleName",
            "Tags",
        }
    )
    in_place = supported - {"Path", "RoleName"}

    def create(self, request: ResourceRequest) -> str:
        """Create the role."""
        role = request.aws.iam.create_role(
            RoleName=request.properties.get("RoleName") or request.generated_name(),
            AssumeRolePolicyDocument=json.dumps(request.properties["AssumeRolePolicyDocument"]),
            **request.given(
                "Description", "MaxSessionDuration", "Path", "PermissionsBoundary", "Tags"
            ),
        )["Role"]
        return role["RoleName"]

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Attach and embed the policies."""
        self._set_policies(request, physical_id, {})

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up ARN and id."""
        role = request.aws.iam.get_role(RoleName=physical_id)["Role"]
        return {"Arn": role["Arn"], "RoleId": role["RoleId"]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set trust policy, settings, boundary, policies and tags anew."""
        iam, properties = request.aws.iam, request.properties
        iam.update_assume_role_policy(
            RoleName=physical_id,
            PolicyDocument=json.dumps(properties["AssumeRolePolicyDocument"]),
        )
        iam.update_role(
            RoleName=physical_id,
            Description=properties.get("Description", ""),
            MaxSessionDuration=properties.get("MaxSessionDuration", 3600),
        )
        if boundary := properties.get("PermissionsBoundary"):
            iam.put_role_permissions_boundary(RoleName=physical_id, PermissionsBoundary=boundary)
        elif previous.get("PermissionsBoundary"):
            iam.delete_role_permissions_boundary(RoleName=physical_id)
        self._set_policies(request, physical_id, previous)
        old_keys = [tag["Key"] for tag in previous.get("Tags", [])]
        iam.untag_role(RoleName=physical_id, TagKeys=old_keys)
        iam.tag_role(RoleName=physical_id, Tags=properties.get("Tags", []))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Take the policies off and delete the role."""
        self._drop_policies(request, physical_id, request.properties, keep={})
        request.aws.iam.delete_role(RoleName=physical_id)

    def _set_policies(
        self, request: ResourceRequest, name: str, previous: Mapping[str, Any]
    ) -> None:
        iam, properties = request.aws.iam, request.properties
        self._drop_policies(request, name, previous, keep=properties)
        for arn in properties.get("ManagedPolicyArns", []):
            iam.attach_role_policy(RoleName=name, PolicyArn=arn)
        for policy in properties.get("Policies", []):
            iam.put_role_policy(
                RoleName=name,
                PolicyName=policy["PolicyName"],
                PolicyDocument=json.dumps(policy["PolicyDocument"]),
            )

    def _drop_policies(
        self,
        request: ResourceRequest,
        name: str,
        previous: Mapping[str, Any],
        keep: Mapping[str, Any],
    ) -> None:
        """Take off what `previous` names and `keep` does not."""
        iam = request.aws.iam
        for arn in set(previous.get("ManagedPolicyArns", [])) - set(
            keep.get("ManagedPolicyArns", [])
        ):
            iam.detach_role_policy(RoleName=name, PolicyArn=arn)
        for policy in _policy_names(previous) - _policy_names(keep):
            iam.delete_role_policy(RoleName=name, PolicyName=policy)


def _policy_names(properties: Mapping[str, Any]) -> set[str]:
    return {policy["PolicyName"] for policy in properties.get("Policies", [])}
