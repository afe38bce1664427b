"""A closed network, which reaches AWS through endpoints, as stacks create and change it."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest
from moto.ec2.models import vpcs

from embedded_aws.clients import Clients
from tests.cloud.embedded_networks import (
    S3,
    free_addresses,
    group,
    interface_endpoint,
    subnet,
    vpc,
)
from tests.cloud.embedded_stacks import Resources, Stacks, att, ref, resource

CLOSED: Resources = {
    "Vpc": vpc(),
    "Block": resource("EC2::VPCCidrBlock", VpcId=ref("Vpc"), CidrBlock="10.1.0.0/16"),
    "A": subnet("10.1.0.0/24", depends_on="Block"),
    "B": subnet("10.1.1.0/24", "usw2-az2", depends_on="Block"),
    "Group": group(
        SecurityGroupIngress=[
            {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "10.1.0.0/16"}
        ]
    ),
    "Table": resource("EC2::RouteTable", VpcId=ref("Vpc")),
    "OfA": resource(
        "EC2::SubnetRouteTableAssociation", RouteTableId=ref("Table"), SubnetId=ref("A")
    ),
    "Images": interface_endpoint("A", "B"),
    "S3": resource(
        "EC2::VPCEndpoint",
        VpcId=ref("Vpc"),
        ServiceName=S3,
        RouteTableIds=[ref("Table")],
        PolicyDocument={"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:Get*"}]},
    ),
}


def interfaces(clients: Clients, endpoint_id: str) -> list[Any]:
    (endpoint,) = clients.ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint_id])["VpcEndpoints"]
    ids = endpoint["NetworkInterfaceIds"]
    return clients.ec2.describe_network_interfaces(NetworkInterfaceIds=ids)["NetworkInterfaces"]


class TestClosedNetwork:
    def test_has_endpoints_with_an_address_in_every_subnet(
        self, stacks: Stacks, clients: Clients
    ) -> None:
        closed = stacks.deploy("closed", CLOSED, Block=ref("Block"), BlockId=att("Block", "Id"))

        assert closed.status == "CREATE_COMPLETE", closed.reasons
        assert closed.outputs["Block"] == closed.outputs["BlockId"]
        found = interfaces(clients, closed.ids["Images"])
        assert {i["SubnetId"] for i in found} == {closed.ids["A"], closed.ids["B"]}
        assert {g["GroupId"] for i in found for g in i["Groups"]} == {closed.ids["Group"]}
        for interface in found:
            (its,) = clients.ec2.describe_subnets(SubnetIds=[interface["SubnetId"]])["Subnets"]
            usable = list(IPv4Network(its["CidrBlock"]))[4:-1]
            assert IPv4Address(interface["PrivateIpAddress"]) in usable
            assert its["AvailableIpAddressCount"] == len(usable) - 1
        stacks.delete("closed")

    def test_follows_its_subnets_groups_and_route_tables(
        self, stacks: Stacks, clients: Clients
    ) -> None:
        stacks.deploy("closed", CLOSED)
        changed = {
            **CLOSED,
            "Images": interface_endpoint("B", SecurityGroupIds=[ref("Other")]),
            "Other": group(),
            "Second": resource("EC2::RouteTable", VpcId=ref("Vpc")),
            "S3": resource(
                "EC2::VPCEndpoint",
                VpcId=ref("Vpc"),
                ServiceName=S3,
                RouteTableIds=[ref("Second")],
            ),
        }
        before = stacks.deploy("closed", CLOSED | {"Unused": group()})
        after = stacks.deploy("closed", changed)

        assert after.status == "UPDATE_COMPLETE", after.reasons
        assert after.ids["Images"] == before.ids["Images"]
        (interface,) = interfaces(clients, after.ids["Images"])
        assert interface["SubnetId"] == after.ids["B"]
        assert [g["GroupId"] for g in interface["Groups"]] == [after.ids["Other"]]
        assert free_addresses(clients, after.ids["A"]) == 251
        tables = clients.ec2.describe_route_tables(
            RouteTableIds=[after.ids["Table"], after.ids["Second"]]
        )["RouteTables"]
        through_endpoint = {
            table["RouteTableId"]
            for table in tables
            for route in table["Routes"]
            if route.get("GatewayId") == after.ids["S3"]
        }
        assert through_endpoint == {after.ids["Second"]}
        stacks.delete("closed")

    def test_leaves_nothing_behind(self, stacks: Stacks, clients: Clients) -> None:
        before = len(clients.ec2.describe_network_interfaces()["NetworkInterfaces"])
        vpc_id = stacks.deploy("closed", CLOSED).ids["Vpc"]

        assert stacks.delete("closed").status == "DELETE_COMPLETE"
        assert len(clients.ec2.describe_network_interfaces()["NetworkInterfaces"]) == before
        assert clients.ec2.describe_vpc_endpoints()["VpcEndpoints"] == []
        assert vpc_id not in [v["VpcId"] for v in clients.ec2.describe_vpcs()["Vpcs"]]


def test_all_endpoint_services_are_listed_after_a_question_for_one(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vpcs, "DEFAULT_VPC_ENDPOINT_SERVICES", {})
    asked = clients.ec2.describe_vpc_endpoint_services(ServiceNames=[S3])
    assert {service["ServiceName"] for service in asked["ServiceDetails"]} == {S3}
    every = clients.ec2.describe_vpc_endpoint_services()["ServiceNames"]
    assert {S3, S3.replace("s3", "ecr.api"), S3.replace("s3", "dynamodb")} < set(every)
