"""Custom::VpcRestrictDefaultSG: the CDK's `restrictDefaultSecurityGroup` of a VPC.

Does what the CDK's function does: takes away the two rules that a default security group is born
with, and gives them back on deletion (aws-cdk-lib 2.275.0,
restrict-default-security-group-handler).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.aws.errors import suppressed
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_EGRESS: Any = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}


class RestrictDefaultSecurityGroup(Provider):
    """A default security group without rules."""

    type = "Custom::VpcRestrictDefaultSG"
    supported = frozenset({"Account", "DefaultSecurityGroupId", "ServiceToken"})
    in_place = frozenset({"Account", "DefaultSecurityGroupId"})

    def create(self, request: ResourceRequest) -> str:
        """Revoke the rules, where they are still there."""
        group_id, account = _group(request.properties)
        ec2 = request.aws.ec2
        for revoke, permission in (
            (ec2.revoke_security_group_egress, _EGRESS),
            (ec2.revoke_security_group_ingress, _ingress(group_id, account)),
        ):
            with suppressed("InvalidPermission.NotFound"):
                revoke(GroupId=group_id, IpPermissions=[permission])
        return request.generated_name()

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],
    ) -> None:
        """Restrict the new group and free the old one."""
        if _group(previous) != _group(request.properties):
            _give_back(request, previous)
            self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Give the rules back."""
        _give_back(request, request.properties)


def _give_back(request: ResourceRequest, properties: Mapping[str, Any]) -> None:
    group_id, account = _group(properties)
    request.aws.ec2.authorize_security_group_ingress(
        GroupId=group_id, IpPermissions=[_ingress(group_id, account)]
    )
    request.aws.ec2.authorize_security_group_egress(GroupId=group_id, IpPermissions=[_EGRESS])


def _group(properties: Mapping[str, Any]) -> tuple[str, str]:
    return str(properties["DefaultSecurityGroupId"]), str(properties["Account"])


def _ingress(group_id: str, account: str) -> Any:
    return {
        "IpProtocol": "-1",
        "UserIdGroupPairs": [{"GroupId": group_id, "UserId": account}],
    }
