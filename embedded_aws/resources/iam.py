"""IAM: roles, policies embedded in roles, and managed policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from embedded_aws.errors import suppressed
from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import Provider, ResourceRequest
from embedded_aws.resources.tags import Tagging

_GONE = "NoSuchEntity"


class Role(ApiResource):
    """A role with the policies in its properties."""

    type = "AWS::IAM::Role"
    apart = frozenset({"ManagedPolicyArns", "Policies"})
    in_place = apart | {
        "AssumeRolePolicyDocument",
        "Description",
        "MaxSessionDuration",
        "PermissionsBoundary",
        "Tags",
    }
    supported = in_place | {"Path", "RoleName"}
    as_json = frozenset({"AssumeRolePolicyDocument"})
    service = "iam"
    creation, deletion = "create_role", "delete_role"
    identity = "RoleName"
    naming = Naming("RoleName")
    described_by = DescribeCall("get_role", "RoleName", ("Role",))
    read_attributes: ClassVar = {"Arn": ("Arn",), "RoleId": ("RoleId",)}
    tagging = Tagging("RoleName", tag="tag_role", untag="untag_role")

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Attach and embed the policies."""
        self._set_policies(request, physical_id, {})

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update trust policy, settings, boundary, policies and tags."""
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
        self.retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Remove the policies and delete the role."""
        self._drop_policies(request, physical_id, request.properties, keep={})
        super().delete(request, physical_id)

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
        """Remove the policies that are in `previous` but not in `keep`."""
        iam = request.aws.iam
        for arn in set(previous.get("ManagedPolicyArns", [])) - set(
            keep.get("ManagedPolicyArns", [])
        ):
            with suppressed(_GONE):
                iam.detach_role_policy(RoleName=name, PolicyArn=arn)
        for policy in _policy_names(previous) - _policy_names(keep):
            with suppressed(_GONE):
                iam.delete_role_policy(RoleName=name, PolicyName=policy)


def _policy_names(properties: Mapping[str, Any]) -> set[str]:
    return {policy["PolicyName"] for policy in properties.get("Policies", [])}


class Policy(Provider):
    """A policy embedded in the roles it names."""

    type = "AWS::IAM::Policy"
    supported = frozenset({"PolicyDocument", "PolicyName", "Roles"})
    in_place = supported

    def create(self, request: ResourceRequest) -> str:
        """Embed the policy; its name is its id."""
        name = str(request.properties["PolicyName"])
        for role in request.properties.get("Roles", []):
            request.aws.iam.put_role_policy(
                RoleName=role,
                PolicyName=name,
                PolicyDocument=json.dumps(request.properties["PolicyDocument"]),
            )
        return name

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the id as the attribute `Id`."""
        return {"Id": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Embed the policy again, and remove it from roles that it no longer names."""
        renamed = previous["PolicyName"] != request.properties["PolicyName"]
        kept = set() if renamed else set(request.properties.get("Roles", []))
        for role in set(previous.get("Roles", [])) - kept:
            request.aws.iam.delete_role_policy(RoleName=role, PolicyName=previous["PolicyName"])
        self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Remove the policy from its roles."""
        for role in request.properties.get("Roles", []):
            with suppressed(_GONE):
                request.aws.iam.delete_role_policy(RoleName=role, PolicyName=physical_id)


class ManagedPolicy(ApiResource):
    """A managed policy; Ref gives its ARN."""

    type = "AWS::IAM::ManagedPolicy"
    in_place = frozenset({"PolicyDocument", "Roles"})
    supported = in_place | {"Description", "ManagedPolicyName", "Path"}
    apart = frozenset({"Roles"})
    renamed: ClassVar = {"ManagedPolicyName": "PolicyName"}
    as_json = frozenset({"PolicyDocument"})
    service = "iam"
    creation, deletion = "create_policy", "delete_policy"
    identity = "PolicyArn"
    answer = ("Policy", "Arn")
    naming = Naming("ManagedPolicyName", 128)
    described_by = DescribeCall("get_policy", "PolicyArn", ("Policy",))
    id_attributes = ("PolicyArn",)
    read_attributes: ClassVar = {"PolicyId": ("PolicyId",)}

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Attach the policy to the roles it names."""
        for role in request.properties.get("Roles", []):
            request.aws.iam.attach_role_policy(RoleName=role, PolicyArn=physical_id)

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Make the new document the only version, and change the roles."""
        iam = request.aws.iam
        old_version = iam.get_policy(PolicyArn=physical_id)["Policy"]["DefaultVersionId"]
        iam.create_policy_version(
            PolicyArn=physical_id,
            PolicyDocument=json.dumps(request.properties["PolicyDocument"]),
            SetAsDefault=True,
        )
        iam.delete_policy_version(PolicyArn=physical_id, VersionId=old_version)
        for role in set(previous.get("Roles", [])) - set(request.properties.get("Roles", [])):
            iam.detach_role_policy(RoleName=role, PolicyArn=physical_id)
        self.complete(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Detach the policy from its roles and delete it."""
        for role in request.properties.get("Roles", []):
            with suppressed(_GONE):
                request.aws.iam.detach_role_policy(RoleName=role, PolicyArn=physical_id)
        super().delete(request, physical_id)
