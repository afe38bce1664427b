"""Endpoints of closed, open and existing networks, and what may pass them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from aws_cdk import aws_ec2

from slurmpod.environment.cluster import Role
from slurmpod.environment.network import interface_endpoint_services
from slurmpod.permissions import expected_scope, grants
from slurmpod.resolve.network import SERVICES_OF_A_CLOSED_NETWORK
from tests.templates.networks import IDENTITY, NEW, endpoints, network, properties, template
from tests.templates.synthesis import of_type, only


def statements(endpoint: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["Sid"]: each for each in endpoint["PolicyDocument"]["Statement"]}


def test_a_closed_network_has_endpoints_for_all_services_in_every_private_subnet() -> None:
    subnets = [{"Ref": each} for each in of_type(template("closed"), "AWS::EC2::Subnet")]
    found = endpoints("closed", "Interface")
    assert set(found) == {*SERVICES_OF_A_CLOSED_NETWORK, "aps-workspaces", "glue"}
    for endpoint in found.values():
        assert endpoint["SubnetIds"] == subnets
        assert endpoint["PrivateDnsEnabled"] is True


def test_interface_endpoints_serve_identities_of_this_account_only() -> None:
    found = endpoints("closed", "Interface")
    assert "PolicyDocument" not in found.pop("glue")  # its service knows no policies
    for endpoint in found.values():
        (statement,) = endpoint["PolicyDocument"]["Statement"]
        assert statement["Condition"] == {"StringEquals": {"aws:PrincipalAccount": "123456789012"}}


def allowed(name: str, service: str) -> list[str]:
    """Return the actions that may pass an endpoint."""
    (statement,) = endpoints(name, "Interface")[service]["PolicyDocument"]["Statement"]
    actions = statement["Action"]
    return [actions] if isinstance(actions, str) else actions


def test_interface_endpoints_let_through_what_nodes_ask() -> None:
    assert allowed("closed", "logs") == [
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
    ]
    assert allowed("closed", "monitoring") == ["cloudwatch:PutMetricData"]
    assert "ec2:CreateNetworkInterface" in allowed("closed", "ec2")
    assert all(action.startswith("ec2:") for action in allowed("closed", "ec2"))


def test_services_that_nodes_ask_in_nobodys_knowledge_are_open_to_the_account() -> None:
    assert allowed("closed", "sts") == ["*"]


def test_endpoints_that_others_use_too_do_not_narrow_their_actions() -> None:
    assert allowed("existing and closed", "logs") == ["*"]


def test_the_s3_endpoint_of_a_closed_network_leads_to_the_buckets_in_use() -> None:
    found = statements(endpoints("closed", "Gateway")["s3"])
    lifecycle = network("closed")[0].lifecycle.bucket
    assert bucket_names(found["ReadBuckets"]) == {lifecycle, "read-bucket", "read-data"}
    assert bucket_names(found["ReadAndWriteBuckets"]) == {
        "more-training-data",
        "repository-bucket",
        "write-bucket",
        "written-data",
    }
    assert "s3:PutObject" not in found["ReadBuckets"]["Action"]
    for sid in ("ReadBuckets", "ReadAndWriteBuckets"):
        assert found[sid]["Condition"] == {"StringEquals": {"aws:PrincipalAccount": "123456789012"}}
    assert found["ReadFilesOfTheAgent"]["Action"] == "s3:GetObject"
    assert "Condition" not in found["ReadFilesOfTheAgent"]
    of_the_agent = found["ReadFilesOfTheAgent"]["Resource"]
    assert "arn:aws:s3:::amazon-ssm-us-west-2/*" in of_the_agent
    assert "arn:aws:s3:::us-west-2-birdwatcher-prod/*" in of_the_agent
    layers = found["ReadImageLayersOfEcr"]
    assert layers["Resource"] == "arn:aws:s3:::prod-us-west-2-starport-layer-bucket/*"
    assert layers["Action"] == "s3:GetObject"
    records = found["SaveJobRecords"]
    assert records["Resource"] == f"arn:aws:s3:::{lifecycle}/records/dev.sql.gz"
    assert records["Action"] == ["s3:AbortMultipartUpload", "s3:PutObject"]
    assert len(found) == 5


def test_what_nodes_may_do_in_buckets_may_pass_the_endpoint_of_a_closed_network() -> None:
    policy = endpoints("closed", "Gateway")["s3"]["PolicyDocument"]["Statement"]
    passing = {
        (action, resource)
        for statement in policy
        for action in words(statement["Action"])
        for resource in words(statement["Resource"])
    }
    scope = expected_scope(network("closed")[0], tuple(Role))
    asked = {
        (action, resource)
        for grant in grants(scope)
        for action in grant.permission.actions
        for resource in grant.target.resources
        if action.startswith("s3:")
    }
    assert len({resource for _, resource in asked}) > len(IDENTITY["data_buckets"])
    refused = {
        (action, resource)
        for action, resource in asked
        if not any(action == each and fnmatchcase(resource, pattern) for each, pattern in passing)
    }
    assert refused == set()


def words(written: str | list[str]) -> list[str]:
    return [written] if isinstance(written, str) else written


def bucket_names(statement: dict[str, Any]) -> set[str]:
    return {
        resource.removeprefix("arn:aws:s3:::").split("/")[0] for resource in statement["Resource"]
    }


@pytest.mark.parametrize("name", [name for name in NEW if name != "closed"])
def test_open_networks_reach_every_bucket_through_the_endpoint(name: str) -> None:
    endpoint = endpoints(name, "Gateway")["s3"]
    tables = [{"Ref": each} for each in of_type(template(name), "AWS::EC2::RouteTable")]
    assert sorted(map(str, endpoint["RouteTableIds"])) == sorted(map(str, tables))
    assert "PolicyDocument" not in endpoint


def endpoint_group(name: str) -> dict[str, Any]:
    (group,) = (
        each
        for each in properties(name, "AWS::EC2::SecurityGroup")
        if each["GroupDescription"].startswith("Interface endpoints")
    )
    return group


def test_endpoints_let_in_https_from_the_nodes_and_nothing_else() -> None:
    (rule,) = endpoint_group("closed")["SecurityGroupIngress"]
    nodes = only(template("closed"), "AWS::EC2::SecurityGroupIngress")["GroupId"]
    assert rule["SourceSecurityGroupId"] == nodes
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 443, 443)
    (egress,) = endpoint_group("closed")["SecurityGroupEgress"]
    assert egress["CidrIp"] == "127.0.0.1/32"


def test_endpoints_in_an_existing_vpc_serve_all_who_are_led_to_them() -> None:
    rules = endpoint_group("existing and closed")["SecurityGroupIngress"]
    assert {rule["CidrIp"] for rule in rules} == {
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
    }
    assert {(rule["FromPort"], rule["ToPort"]) for rule in rules} == {(443, 443)}


def test_the_list_of_services_is_that_of_the_pinned_cdk() -> None:
    services = aws_ec2.InterfaceVpcEndpointAwsService
    known = [getattr(services, name) for name in dir(services) if name[0].isupper()]
    names = {each.short_name for each in known if not each.name.startswith("aws.")}
    assert names == interface_endpoint_services()
