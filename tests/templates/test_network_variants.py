"""The network stack in all its variants, synthesized without the other stacks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint_by_config  # type: ignore[import-untyped]

from slurmpod_cdk.nag.review import review
from tests.networks import VARIANTS
from tests.templates.linting import IGNORED
from tests.templates.networks import NEW, endpoints, network, properties, template
from tests.templates.synthesis import of_type, only

MAKING_A_STACK = [
    name
    for name in VARIANTS
    if name not in {"existing with a security group", "existing with endpoints"}
]


@pytest.mark.parametrize("name", MAKING_A_STACK)
def test_every_finding_of_cdk_nag_is_fixed_or_waived(name: str) -> None:
    assert review(network(name)[2]) == ()


@pytest.mark.parametrize("name", MAKING_A_STACK)
def test_cfn_lint_finds_nothing(name: str) -> None:
    (stack,) = network(name)[2].synth().stacks
    config = ManualArgs(
        templates=[stack.template_full_path],
        regions=["us-west-2"],
        ignore_checks=list(IGNORED),
    )
    assert [str(match) for match in lint_by_config(config)] == []


@pytest.mark.parametrize("name", NEW)
def test_each_zone_has_a_subnet_by_the_property_for_its_form(name: str) -> None:
    resolved, made, _ = network(name)
    by_id = {
        each.get("AvailabilityZoneId", each.get("AvailabilityZone")): each
        for each in properties(name, "AWS::EC2::Subnet")
        if {"Key": "aws-cdk:subnet-name", "Value": "Private"} in each["Tags"]
    }
    assert list(by_id) == list(made.subnet_ids) == list(resolved.network.zones)
    for subnet in resolved.network.private:
        mine = by_id[subnet.zone]
        assert mine["CidrBlock"] == str(subnet.cidr)
        assert ("AvailabilityZoneId" in mine) is subnet.zone.startswith("usw2-")
        assert mine.keys() & {"AvailabilityZone", "AvailabilityZoneId"} != {
            "AvailabilityZone",
            "AvailabilityZoneId",
        }


@pytest.mark.parametrize(
    ("name", "gateways"),
    [
        ("one zone by id", 1),
        ("zones that share a NAT gateway", 1),
        ("a NAT gateway per zone", 2),
        ("routes of one's own", 0),
        ("closed", 0),
    ],
)
def test_there_are_as_many_nat_gateways_as_asked_for(name: str, gateways: int) -> None:
    assert len(properties(name, "AWS::EC2::NatGateway")) == gateways
    assert len(properties(name, "AWS::EC2::InternetGateway")) == min(gateways, 1)
    routes = properties(name, "AWS::EC2::Route")
    assert len({json.dumps(each.get("NatGatewayId")) for each in routes} - {"null"}) == gateways


@pytest.mark.parametrize("name", ["routes of one's own", "closed"])
def test_without_nat_gateways_nothing_is_public(name: str) -> None:
    assert of_type(template(name), "AWS::EC2::Route") == {}
    kinds = {
        tag["Value"]
        for each in properties(name, "AWS::EC2::Subnet")
        for tag in each["Tags"]
        if tag["Key"] == "aws-cdk:subnet-type"
    }
    assert kinds == {"Isolated"}


def test_subnets_wait_for_the_secondary_blocks_which_come_one_after_the_other() -> None:
    made = template("a NAT gateway per zone")
    blocks = of_type(made, "AWS::EC2::VPCCidrBlock")
    (first, second) = blocks
    assert [blocks[each]["Properties"]["CidrBlock"] for each in blocks] == [
        "10.1.0.0/16",
        "100.64.0.0/16",
    ]
    assert blocks[second]["DependsOn"] == [first]
    private = [
        each
        for logical_id, each in of_type(made, "AWS::EC2::Subnet").items()
        if "Private" in logical_id
    ]
    assert all(second in each["DependsOn"] for each in private)


def node_group(name: str) -> dict[str, Any]:
    (group,) = (
        each
        for each in properties(name, "AWS::EC2::SecurityGroup")
        if each["GroupDescription"].startswith("Nodes")
    )
    return group


def test_nodes_of_a_closed_network_have_no_rule_for_the_internet_but_https_to_s3() -> None:
    rules = {
        (rule["CidrIp"], rule["IpProtocol"], rule.get("FromPort"), rule.get("ToPort"))
        for rule in node_group("closed")["SecurityGroupEgress"]
    }
    assert rules == {("10.0.0.0/16", "-1", None, None), ("0.0.0.0/0", "tcp", 443, 443)}


@pytest.mark.parametrize(
    ("opened", "closed"), [("one zone by id", "closed"), ("existing", "existing and closed")]
)
def test_to_close_a_network_keeps_the_security_group_of_file_systems(
    opened: str, closed: str
) -> None:
    """Another description or VPC is another group, and file systems of it are empty ones."""
    kept = [
        {key: value for key, value in node_group(name).items() if key != "SecurityGroupEgress"}
        for name in (opened, closed)
    ]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("name", ["closed", "existing and closed", "existing"])
def test_members_of_the_node_group_reach_each_other(name: str) -> None:
    ingress = only(template(name), "AWS::EC2::SecurityGroupIngress")
    egress = only(template(name), "AWS::EC2::SecurityGroupEgress")
    assert ingress["GroupId"] == ingress["SourceSecurityGroupId"]
    assert egress["GroupId"] == egress["DestinationSecurityGroupId"] == ingress["GroupId"]


def test_an_existing_network_is_referred_to_by_its_ids() -> None:
    _, made, _ = network("existing and closed")
    assert made.vpc_id == "vpc-0a1b2c3d4e5f60718"
    assert made.subnet("usw2-az2").subnet_id == "subnet-0a1b2c3d4e5f60718"
    assert made.subnet("usw2-az1").subnet_id == "subnet-0a1b2c3d4e6071829"
    types = {each["Type"] for each in template("existing and closed")["Resources"].values()}
    assert types == {
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::VPCEndpoint",
    }
    assert endpoints("existing and closed", "Gateway")["s3"]["RouteTableIds"] == ["rtb-0a1b2c3d"]


@pytest.mark.parametrize("name", ["existing with a security group", "existing with endpoints"])
def test_a_network_that_lacks_nothing_has_no_stack(name: str) -> None:
    _, made, app = network(name)
    assert made.stack is None
    assert made.security_group_ids == ["sg-0a1b2c3d"]
    assert app.synth().stacks == []


def test_flow_logs_are_recorded_kept_and_encrypted_as_asked_for() -> None:
    group = only(template("closed"), "AWS::Logs::LogGroup")
    assert group["RetentionInDays"] == 30
    assert group["KmsKeyId"] == VARIANTS["closed"]["flow_logs"]["kms_key_arn"]
    assert only(template("closed"), "AWS::EC2::FlowLog")["TrafficType"] == "REJECT"


def test_flow_logs_can_be_off() -> None:
    assert of_type(template("routes of one's own"), "AWS::EC2::FlowLog") == {}
    assert of_type(template("routes of one's own"), "AWS::Logs::LogGroup") == {}
