"""AWS::EC2::SecurityGroup, AWS::EC2::SecurityGroupIngress and AWS::EC2::SecurityGroupEgress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_dependencies import require_unused
from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALLOW_ALL_EGRESS: Any = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
"""The rule that EC2 gives every new group; CloudFormation takes it away if others are named."""
_RULE_PROPERTIES = frozenset(
    {
        "CidrIp",
        "CidrIpv6",
        "Description",
        "DestinationSecurityGroupId",
        "FromPort",
        "IpProtocol",
        "SourceSecurityGroupId",
        "ToPort",
    }
)


class SecurityGroup(Provider):
    """A security group with the rules that stand in its own properties."""

    type = "AWS::EC2::SecurityGroup"
    supported = frozenset(
        {
            "GroupDescription",
            "GroupName",
            "SecurityGroupEgress",
            "SecurityGroupIngress",
            "Tags",
            "VpcId",
        }
    )
    in_place = frozenset({"SecurityGroupEgress", "SecurityGroupIngress", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the group."""
        answer = request.aws.ec2.create_security_group(
            GroupName=request.properties.get("GroupName") or request.generated_name(255),
            Description=request.properties["GroupDescription"],
            VpcId=request.properties["VpcId"],
            TagSpecifications=tag_specifications("security-group", request),
        )
        return answer["GroupId"]

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the rules."""
        _change_rules(request, physical_id, old=[], new=_rules(request.properties, "Ingress"))
        _change_rules(
            request,
            physical_id,
            old=[_ALLOW_ALL_EGRESS],
            new=_egress(request.properties),
            egress=True,
        )

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the id under its names."""
        return {
            "GroupId": physical_id,
            "Id": physical_id,
            "VpcId": request.properties["VpcId"],
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change the rules of the group's own properties, and the tags."""
        new = request.properties
        _change_rules(
            request, physical_id, old=_rules(previous, "Ingress"), new=_rules(new, "Ingress")
        )
        _change_rules(request, physical_id, old=_egress(previous), new=_egress(new), egress=True)
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the group; EC2 refuses while a network interface has it."""
        require_unused(request, "group-id", physical_id)
        request.aws.ec2.delete_security_group(GroupId=physical_id)


class _Rule(Provider):
    """One rule as a resource of its own; Ref gives the id of the rule (sgr-...)."""

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"Id": physical_id}


class SecurityGroupIngress(_Rule):
    """A rule for what may come in."""

    type = "AWS::EC2::SecurityGroupIngress"
    supported = (_RULE_PROPERTIES | {"GroupId"}) - {"DestinationSecurityGroupId"}

    def create(self, request: ResourceRequest) -> str:
        """Authorize the rule."""
        answer = request.aws.ec2.authorize_security_group_ingress(
            GroupId=request.properties["GroupId"], IpPermissions=[_permission(request.properties)]
        )
        return answer["SecurityGroupRules"][0]["SecurityGroupRuleId"]

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Revoke the rule."""
        request.aws.ec2.revoke_security_group_ingress(
            GroupId=request.properties["GroupId"], SecurityGroupRuleIds=[physical_id]
        )


class SecurityGroupEgress(_Rule):
    """A rule for what may go out."""

    type = "AWS::EC2::SecurityGroupEgress"
    supported = (_RULE_PROPERTIES | {"GroupId"}) - {"SourceSecurityGroupId"}

    def create(self, request: ResourceRequest) -> str:
        """Authorize the rule."""
        answer = request.aws.ec2.authorize_security_group_egress(
            GroupId=request.properties["GroupId"], IpPermissions=[_permission(request.properties)]
        )
        return answer["SecurityGroupRules"][0]["SecurityGroupRuleId"]

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Revoke the rule."""
        request.aws.ec2.revoke_security_group_egress(
            GroupId=request.properties["GroupId"], SecurityGroupRuleIds=[physical_id]
        )


def _rules(properties: Mapping[str, Any], direction: str) -> list[Any]:
    return list(properties.get(f"SecurityGroup{direction}", []))


def _egress(properties: Mapping[str, Any]) -> list[Any]:
    return _rules(properties, "Egress") or [_ALLOW_ALL_EGRESS]


def _change_rules(
    request: ResourceRequest, group_id: str, *, old: list[Any], new: list[Any], egress: bool = False
) -> None:
    ec2 = request.aws.ec2
    revoke = ec2.revoke_security_group_egress if egress else ec2.revoke_security_group_ingress
    authorize = (
        ec2.authorize_security_group_egress if egress else ec2.authorize_security_group_ingress
    )
    gone = [_permission(rule) for rule in old if rule not in new]
    added = [_permission(rule) for rule in new if rule not in old]
    if gone:
        revoke(GroupId=group_id, IpPermissions=gone)
    if added:
        authorize(GroupId=group_id, IpPermissions=added)


def _permission(rule: Mapping[str, Any]) -> Any:
    """Turn a rule as templates write it into one as the API writes it."""
    for name in sorted(rule.keys() - _RULE_PROPERTIES - {"GroupId"}):
        raise ProviderError(f"{name} of a security group rule is not supported by the embedded AWS")
    permission: dict[str, Any] = {"IpProtocol": str(rule["IpProtocol"])}
    permission |= {port: int(rule[port]) for port in ("FromPort", "ToPort") if port in rule}
    note = {"Description": rule["Description"]} if "Description" in rule else {}
    peer = rule.get("SourceSecurityGroupId") or rule.get("DestinationSecurityGroupId")
    if peer:
        permission["UserIdGroupPairs"] = [{"GroupId": peer, **note}]
    if "CidrIp" in rule:
        permission["IpRanges"] = [{"CidrIp": rule["CidrIp"], **note}]
    if "CidrIpv6" in rule:
        permission["Ipv6Ranges"] = [{"CidrIpv6": rule["CidrIpv6"], **note}]
    return permission
