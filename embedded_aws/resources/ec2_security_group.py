"""AWS::EC2::SecurityGroup, AWS::EC2::SecurityGroupIngress and AWS::EC2::SecurityGroupEgress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from embedded_aws.errors import suppressed
from embedded_aws.resources.api_resource import DescribeCall, Naming
from embedded_aws.resources.ec2_network import Ec2Resource, require_unused
from embedded_aws.resources.provider import ProviderError, ResourceRequest

_ALLOW_ALL_EGRESS: Any = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
"""The rule in every new group; CloudFormation removes it if others are given."""
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


class SecurityGroup(Ec2Resource):
    """A security group with the rules in its properties."""

    type = "AWS::EC2::SecurityGroup"
    kind = "security-group"
    apart = frozenset({"SecurityGroupEgress", "SecurityGroupIngress"})
    in_place = apart | {"Tags"}
    supported = in_place | {"GroupDescription", "GroupName", "VpcId"}
    renamed: ClassVar = {"GroupDescription": "Description"}
    naming = Naming("GroupName", 255)
    creation, deletion = "create_security_group", "delete_security_group"
    identity = "GroupId"
    answer = ("GroupId",)
    described_by = DescribeCall("describe_security_groups", "GroupIds")
    id_attributes = ("GroupId", "Id")
    given_attributes = ("VpcId",)

    def create(self, request: ResourceRequest) -> str:
        """Create the group; moto would accept a VPC that does not exist."""
        request.aws.ec2.describe_vpcs(VpcIds=[request.properties["VpcId"]])
        return super().create(request)

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the rules."""
        new = request.properties
        _change_rules(request, physical_id, old=[], new=_rules(new, "Ingress"))
        _change_rules(request, physical_id, old=[_ALLOW_ALL_EGRESS], new=_egress(new), egress=True)

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change the rules in the group's properties, and the tags."""
        new = request.properties
        _change_rules(
            request, physical_id, old=_rules(previous, "Ingress"), new=_rules(new, "Ingress")
        )
        _change_rules(request, physical_id, old=_egress(previous), new=_egress(new), egress=True)
        self.retag(request, physical_id, previous)

    def actual(self, request: ResourceRequest, physical_id: str) -> dict[str, Any] | None:
        """Return the properties, with the rules in template form and their ids."""
        actual = super().actual(request, physical_id) or {}
        rules = request.aws.ec2.describe_security_group_rules(
            Filters=[{"Name": "group-id", "Values": [physical_id]}]
        )["SecurityGroupRules"]
        for name, is_egress in (("SecurityGroupIngress", False), ("SecurityGroupEgress", True)):
            if name in request.properties:
                actual[name] = [_written(rule) for rule in rules if rule["IsEgress"] == is_egress]
        return actual

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the group; EC2 refuses while a network interface uses it."""
        require_unused(request, "group-id", physical_id)
        super().delete(request, physical_id)


class _Rule(Ec2Resource):
    """One rule as a separate resource; Ref gives the id of the rule (sgr-...)."""

    in_place = frozenset({"Description"})
    identity = "SecurityGroupRuleIds"
    answer = ("SecurityGroupRules", 0, "SecurityGroupRuleId")
    id_attributes = ("Id",)

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the rule in the API's form."""
        permission = _permission(request.properties)
        return {"GroupId": request.properties["GroupId"], "IpPermissions": [permission]}

    def create(self, request: ResourceRequest) -> str:
        """Authorize the rule."""
        _require_prefix_lists(request, [request.properties])
        return super().create(request)

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change the description."""
        self.call(request, str(self.change), self.arguments(request))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Revoke the rule."""
        arguments = {**request.given("GroupId"), self.identity: [physical_id]}
        self.call(request, self.deletion, arguments)


class SecurityGroupIngress(_Rule):
    """A rule for inbound traffic."""

    type = "AWS::EC2::SecurityGroupIngress"
    creation = "authorize_security_group_ingress"
    change = "update_security_group_rule_descriptions_ingress"
    deletion = "revoke_security_group_ingress"
    supported = (_RULE_PROPERTIES | {"GroupId"}) - {
        "DestinationPrefixListId",
        "DestinationSecurityGroupId",
    }


class SecurityGroupEgress(_Rule):
    """A rule for outbound traffic."""

    type = "AWS::EC2::SecurityGroupEgress"
    creation = "authorize_security_group_egress"
    change = "update_security_group_rule_descriptions_egress"
    deletion = "revoke_security_group_egress"
    supported = (_RULE_PROPERTIES | {"GroupId"}) - {
        "SourcePrefixListId",
        "SourceSecurityGroupId",
        "SourceSecurityGroupOwnerId",
    }

    def create(self, request: ResourceRequest) -> str:
        """Authorize the rule; if it equals the default rule of new groups, replace that one.

        CloudFormation removes the default rule for any rule that is a resource (issue 157 of
        aws-cloudformation/cfn-language-discussion); here only for its duplicate.
        """
        if _is_default_egress(request.properties):
            with suppressed("InvalidPermission.NotFound"):
                request.aws.ec2.revoke_security_group_egress(
                    GroupId=request.properties["GroupId"],
                    IpPermissions=[_permission(_ALLOW_ALL_EGRESS)],
                )
        return super().create(request)


def _is_default_egress(rule: Mapping[str, Any]) -> bool:
    return all(rule.get(name) == value for name, value in _ALLOW_ALL_EGRESS.items())


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
    """Raise ProviderError, with EC2's message, for a missing prefix list, which moto accepts."""
    for prefix_list_id in filter(None, map(_prefix_list, rules)):
        found = request.aws.ec2.describe_managed_prefix_lists(PrefixListIds=[prefix_list_id])
        if not found["PrefixLists"]:
            raise ProviderError(f"The prefix list ID '{prefix_list_id}' does not exist")


def _prefix_list(rule: Mapping[str, Any]) -> Any:
    return rule.get("SourcePrefixListId") or rule.get("DestinationPrefixListId")


def _written(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a rule from the API's description to template form."""
    side = "Destination" if rule["IsEgress"] else "Source"
    names = {
        "CidrIp": "CidrIpv4",
        "CidrIpv6": "CidrIpv6",
        f"{side}PrefixListId": "PrefixListId",
        **{name: name for name in ("Description", "FromPort", "IpProtocol", "ToPort")},
        "Id": "SecurityGroupRuleId",
    }
    written = {name: rule[key] for name, key in names.items() if key in rule}
    if "ReferencedGroupInfo" in rule:
        written[f"{side}SecurityGroupId"] = rule["ReferencedGroupInfo"]["GroupId"]
    return written


def _permission(rule: Mapping[str, Any]) -> Any:
    """Convert a rule from template form to the API's form."""
    for name in sorted(rule.keys() - _RULE_PROPERTIES - {"GroupId"}):
        raise ProviderError(f"{name} of a security group rule is not supported by the embedded AWS")
    permission: dict[str, Any] = {"IpProtocol": rule["IpProtocol"]}
    permission |= {port: rule[port] for port in ("FromPort", "ToPort") if port in rule}
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
