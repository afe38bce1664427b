"""AWS::IAM::Policy (embedded in roles) and AWS::IAM::ManagedPolicy (attached to roles)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


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

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"Id": physical_id}

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],
    ) -> None:
        """Embed the policy anew, and take it out of roles that it no longer names."""
        renamed = previous["PolicyName"] != request.properties["PolicyName"]
        kept = set() if renamed else set(request.properties.get("Roles", []))
        for role in set(previous.get("Roles", [])) - kept:
            request.aws.iam.delete_role_policy(RoleName=role, PolicyName=previous["PolicyName"])
        self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Take the policy out of its roles."""
        for role in request.properties.get("Roles", []):
            request.aws.iam.delete_role_policy(RoleName=role, PolicyName=physical_id)


class ManagedPolicy(Provider):
    """A policy of its own; Ref gives its ARN."""

    type = "AWS::IAM::ManagedPolicy"
    supported = frozenset({"Description", "ManagedPolicyName", "Path", "PolicyDocument", "Roles"})
    in_place = frozenset({"PolicyDocument", "Roles"})

    def create(self, request: ResourceRequest) -> str:
        """Create the policy."""
        policy = request.aws.iam.create_policy(
            PolicyName=request.properties.get("ManagedPolicyName") or request.generated_name(128),
            PolicyDocument=json.dumps(request.properties["PolicyDocument"]),
            **request.given("Description", "Path"),
        )["Policy"]
        return policy["Arn"]

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Attach the policy to the roles it names."""
        for role in request.properties.get("Roles", []):
            request.aws.iam.attach_role_policy(RoleName=role, PolicyArn=physical_id)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the policy's id."""
        policy = request.aws.iam.get_policy(PolicyArn=physical_id)["Policy"]
        return {"PolicyArn": physical_id, "PolicyId": policy["PolicyId"]}

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
            request.aws.iam.detach_role_policy(RoleName=role, PolicyArn=physical_id)
        request.aws.iam.delete_policy(PolicyArn=physical_id)
