from __future__ import annotations

import json

from tests.templates.synthesis import Synthesized, of_type, only


def subnet(example: Synthesized, kind: str) -> dict[str, object]:
    (found,) = (
        resource["Properties"]
        for resource in of_type(example.templates["network"], "AWS::EC2::Subnet").values()
        if {"Key": "aws-cdk:subnet-type", "Value": kind} in resource["Properties"]["Tags"]
    )
    properties: dict[str, object] = found
    return properties


def test_the_vpc_resolves_names(example: Synthesized) -> None:
    vpc = only(example.templates["network"], "AWS::EC2::VPC")
    assert vpc["CidrBlock"] == str(example.resolved.network.vpc_cidr)
    assert vpc["EnableDnsHostnames"]
    assert vpc["EnableDnsSupport"]


def test_subnets_have_the_resolved_ranges_and_zone(example: Synthesized) -> None:
    network = example.resolved.network
    for kind, (resolved,) in (("Public", network.public), ("Private", network.private)):
        properties = subnet(example, kind)
        assert properties["CidrBlock"] == str(resolved.cidr)
        assert properties["AvailabilityZone"] == network.zone


def test_no_instance_gets_a_public_address(example: Synthesized) -> None:
    assert subnet(example, "Private")["MapPublicIpOnLaunch"] is False
    assert subnet(example, "Public")["MapPublicIpOnLaunch"] is False


def test_no_zone_is_made_up_or_looked_up(example: Synthesized) -> None:
    assert "dummy" not in json.dumps(example.templates)
    assert "Fn::GetAZs" not in json.dumps(example.templates)


def test_nodes_leave_through_nat_and_reach_s3_through_the_endpoint(example: Synthesized) -> None:
    template = example.templates["network"]
    targets = {
        key
        for route in of_type(template, "AWS::EC2::Route").values()
        for key in ("GatewayId", "NatGatewayId")
        if key in route["Properties"]
    }
    endpoint = only(template, "AWS::EC2::VPCEndpoint")
    private_table = next(
        association["Properties"]["RouteTableId"]
        for logical_id, association in of_type(
            template, "AWS::EC2::SubnetRouteTableAssociation"
        ).items()
        if "Private" in logical_id
    )
    assert targets == {"GatewayId", "NatGatewayId"}
    assert endpoint["VpcEndpointType"] == "Gateway"
    assert private_table in endpoint["RouteTableIds"]


def test_nodes_have_explicit_ingress_and_egress_to_their_own_group(example: Synthesized) -> None:
    template = example.templates["network"]
    (group_id,) = of_type(template, "AWS::EC2::SecurityGroup")
    itself = {"Fn::GetAtt": [group_id, "GroupId"]}
    ingress = only(template, "AWS::EC2::SecurityGroupIngress")
    egress = only(template, "AWS::EC2::SecurityGroupEgress")
    assert ingress["GroupId"] == ingress["SourceSecurityGroupId"] == itself
    assert egress["GroupId"] == egress["DestinationSecurityGroupId"] == itself
    assert ingress["IpProtocol"] == egress["IpProtocol"] == "-1"


def test_nothing_from_outside_the_group_may_connect(example: Synthesized) -> None:
    group = only(example.templates["network"], "AWS::EC2::SecurityGroup")
    (way_out,) = group["SecurityGroupEgress"]
    assert "SecurityGroupIngress" not in group
    assert (way_out["CidrIp"], way_out["IpProtocol"]) == ("0.0.0.0/0", "-1")


def test_the_default_security_group_is_emptied(example: Synthesized) -> None:
    assert only(example.templates["network"], "Custom::VpcRestrictDefaultSG")


def test_all_traffic_is_logged_for_a_limited_time(example: Synthesized) -> None:
    template = example.templates["network"]
    flow_log = only(template, "AWS::EC2::FlowLog")
    (log_group_id,) = of_type(template, "AWS::Logs::LogGroup")
    assert flow_log["TrafficType"] == "ALL"
    assert flow_log["LogGroupName"] == {"Ref": log_group_id}
    assert only(template, "AWS::Logs::LogGroup")["RetentionInDays"] == 90
