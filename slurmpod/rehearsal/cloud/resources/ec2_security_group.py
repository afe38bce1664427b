"""AWS::EC2::SecurityGroup, AWS::EC2::SecurityGroupIngress and AWS::EC2::SecurityGroupEgress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

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
        "DestinationPrefixListId",
        "DestinationSecurityGroupId",
        "FromPort",
        "IpProtocol",
        "SourcePrefixListId",
        "SourceSecurityGroupId",
        "SourceSecurityGroupOwnerId",
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
        """Create the group; moto would take a VPC that does not exist."""
        request.aws.ec2.describe_vpcs(VpcIds=[request.properties["VpcId"]])
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

    direction: ClassVar[str]
    """ingress or egress, as the names of EC2's calls end."""
    in_place = frozenset({"Description"})

    def create(self, request: ResourceRequest) -> str:
        """Authorize the rule."""
        _require_prefix_lists(request, [request.properties])
        answer = self._call(request, "authorize_security_group_{}")
        return str(answer["SecurityGroupRules"][0]["SecurityGroupRuleId"])

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"Id": physical_id}

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Change the description."""
        self._call(request, "update_security_group_rule_descriptions_{}")

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Revoke the rule."""
        revoke = getattr(request.aws.ec2, f"revoke_security_group_{self.direction}")
        revoke(GroupId=request.properties["GroupId"], SecurityGroupRuleIds=[physical_id])

    def _call(self, request: ResourceRequest, name: str) -> Any:
        call = getattr(request.aws.ec2, name.format(self.direction))
        permission = _permission(request.properties)
        return call(GroupId=request.properties["GroupId"], IpPermissions=[permission])


class SecurityGroupIngress(_Rule):
    """A rule for what may come in."""

    type = "AWS::EC2::SecurityGroupIngress"
    direction = "ingress"
    supported = (_RULE_PROPERTIES | {"GroupId"}) - {
        "DestinationPrefixListId",
        "DestinationSecurityGroupId",
    }


class SecurityGroupEgress(_Rule):
    """A rule for what may go out."""

    type = "AWS::EC2::SecurityGroupEgress"
    direction = "egress"
    supported = (_RULE_PROPERTIES | {"GroupId"}) - {
        "SourcePrefixListId",
        "SourceSecurityGroupId",
        "SourceSecurityGroupOwnerId",
    }


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
    _require_prefix_lists(request, new)
    gone = [_permission(rule) for rule in old if rule not in new]
    added = [_permission(rule) for rule in new if rule not in old]
    if gone:
        revoke(GroupId=group_id, IpPermissions=gone)
    if added:
        authorize(GroupId=group_id, IpPermissions=added)


def _require_prefix_lists(request: ResourceRequest, rules: list[Any]) -> None:
    """Raise ProviderError, with EC2's words, for a prefix list that moto would not miss."""
    for prefix_list_id in filter(None, map(_prefix_list, rules)):
        found = request.aws.ec2.describe_managed_prefix_lists(PrefixListIds=[prefix_list_id])
        if not found["PrefixLists"]:
            raise ProviderError(f"The prefix list ID '{prefix_list_id}' does not exist")


def _prefix_list(rule: Mapping[str, Any]) -> Any:
    return rule.get("SourcePrefixListId") or rule.get("DestinationPrefixListId")


def _permission(rule: Mapping[str, Any]) -> Any:
    """Turn a rule as templates write it into one as the API writes it."""
    for name in sorted(rule.keys() - _RULE_PROPERTIES - {"GroupId"}):
        raise ProviderError(f"{name} of a security group rule is not supported by the embedded AWS")
    permission: dict[str, Any] = {"IpProtocol": str(rule["IpProtocol"])}
    permission |= {port: int(rule[port]) for port in ("FromPort", "ToPort") if port in rule}
    note = {"Description": rule["Description"]} if "Description" in rule else {}
    peer = rule.get("SourceSecurityGroupId") or rule.get("DestinationSecurityGroupId")
    if peer:
        owner = rule.get("SourceSecurityGroupOwnerId")
        account = {"UserId": owner} if owner else {}
        permission["UserIdGroupPairs"] = [{"GroupId": peer, **account, **note}]
    if _prefix_list(rule):
        permission["PrefixListIds"] = [{"PrefixListId": _prefix_list(rule), **note}]
    if "CidrIp" in rule:
        permission["IpRanges"] = [{"CidrIp": rule["CidrIp"], **note}]
    if "CidrIpv6" in rule:
        permission["Ipv6Ranges"] = [{"CidrIpv6": rule["CidrIpv6"], **note}]
    return permission
