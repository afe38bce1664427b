"""Networks that environments may have: of several zones, with more blocks, existing ones."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest

from embedded_aws.clients import Clients
from embedded_aws.cluster import VpcConfig
from embedded_aws.sagemaker.network import SubnetInterfaces
from tests.cloud.embedded_networks import (
    ECR,
    S3,
    free_addresses,
    group,
    interface_endpoint,
    subnet,
    vpc,
)
from tests.cloud.embedded_stacks import (
    Resources,
    Stacks,
    att,
    ref,
    resource,
)
from tests.pure.hyperpod import clusters


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"A": subnet("10.0.0.0/24", "usw2-az9")},
            "Value (usw2-az9) for parameter availabilityZoneId is invalid. Subnets can currently",
        ),
        (
            {"A": resource("EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.0.0/24",
                           AvailabilityZone="us-east-1a")},
            "Value (us-east-1a) for parameter availabilityZone is invalid",
        ),
        (
            {"A": subnet("10.1.0.0/24")},
            "The CIDR '10.1.0.0/24' is invalid",
        ),
        (
            {"Block": resource("EC2::VPCCidrBlock", VpcId=ref("Vpc"), CidrBlock="192.168.0.0/16")},
            "The CIDR '192.168.0.0/16' is restricted. Use a CIDR from the same private address",
        ),
        (
            {"Vpc": vpc(EnableDnsHostnames=False)},
            "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames",
        ),
        (
            {"Again": interface_endpoint("A")},
            "there is already a conflicting DNS domain for api.ecr.us-west-2.amazonaws.com",
        ),
        (
            {"C": subnet("10.0.2.0/24"), "Images": interface_endpoint("A", "C")},
            "Found another VPC endpoint subnet in the availability zone",
        ),
        (
            {"Images": interface_endpoint("A", service="com.amazonaws.us-west-2.nothing")},
            "The Vpc Endpoint Service 'com.amazonaws.us-west-2.nothing' does not exist",
        ),
        (
            {"Images": interface_endpoint("A", SecurityGroupIds=["sg-00000000"])},
            "sg-00000000",
        ),
        (
            {"Gateway": resource("EC2::VPCEndpoint", VpcId=ref("Vpc"), ServiceName=ECR,
                                 RouteTableIds=[ref("Table")])},
            "Endpoint type (Gateway) does not match available service types ([Interface])",
        ),
        (
            {"S3Again": resource("EC2::VPCEndpoint", VpcId=ref("Vpc"), ServiceName=S3,
                                 RouteTableIds=[ref("Table")], depends_on="S3")},
            "already has a route with destination-prefix-list-id pl-",
        ),
        (
            {"Nat": resource("EC2::NatGateway", SubnetId=ref("A"),
                             AllocationId=att("Ip", "AllocationId")),
             "Ip": resource("EC2::EIP", Domain="vpc")},
            "has no Internet gateway attached",
        ),
        (
            {"Rule": resource("EC2::SecurityGroupEgress", GroupId=ref("Group"), IpProtocol="tcp",
                              FromPort=443, ToPort=443, DestinationPrefixListId="pl-00000000")},
            "The prefix list ID 'pl-00000000' does not exist",
        ),
        (
            {"Alone": resource("EC2::SecurityGroup", GroupDescription="d", VpcId="vpc-00000000")},
            "InvalidVpcID.NotFound",
        ),
    ],
)  # fmt: skip
def test_what_ec2_refuses_fails_in_its_words(
    stacks: Stacks, changes: Resources, reason: str
) -> None:
    base: Resources = {
        "Vpc": vpc(),
        "A": subnet("10.0.0.0/24"),
        "Group": group(),
        "Table": resource("EC2::RouteTable", VpcId=ref("Vpc")),
        "Images": interface_endpoint("A"),
        "S3": resource(
            "EC2::VPCEndpoint", VpcId=ref("Vpc"), ServiceName=S3, RouteTableIds=[ref("Table")]
        ),
    }
    outcome = stacks.deploy("refused", {**base, **changes})

    assert outcome.status == "ROLLBACK_COMPLETE"
    assert reason in outcome.reasons
    stacks.delete("refused")


def test_a_block_with_subnets_in_it_stays(stacks: Stacks, clients: Clients) -> None:
    block = resource("EC2::VPCCidrBlock", VpcId=ref("Vpc"), CidrBlock="10.1.0.0/16")
    deployed = stacks.deploy("block", {"Vpc": vpc(), "Block": block})
    made = clients.ec2.create_subnet(VpcId=deployed.ids["Vpc"], CidrBlock="10.1.0.0/24")["Subnet"]
    blocked = stacks.delete("block")

    assert blocked.status == "DELETE_FAILED"
    assert "currently has a subnet within CIDR block 10.1.0.0/16" in blocked.reasons

    clients.ec2.delete_subnet(SubnetId=made["SubnetId"])
    assert stacks.delete("block").status == "DELETE_COMPLETE"


def test_every_zone_can_have_its_own_way_out(stacks: Stacks, clients: Clients) -> None:
    resources: Resources = {
        "Vpc": vpc(),
        "Internet": resource("EC2::InternetGateway"),
        "Attached": resource(
            "EC2::VPCGatewayAttachment", VpcId=ref("Vpc"), InternetGatewayId=ref("Internet")
        ),
    }
    for number, zone in enumerate(("usw2-az1", "usw2-az2", "usw2-az3")):
        resources |= {
            f"Public{number}": subnet(f"10.0.{number}.0/28", zone),
            f"Ip{number}": resource("EC2::EIP", Domain="vpc"),
            f"Nat{number}": resource(
                "EC2::NatGateway",
                SubnetId=ref(f"Public{number}"),
                AllocationId=att(f"Ip{number}", "AllocationId"),
                depends_on="Attached",
            ),
        }
    outcome = stacks.deploy("zones", resources)
    gateways = clients.ec2.describe_nat_gateways(
        Filters=[{"Name": "vpc-id", "Values": [outcome.ids["Vpc"]]}]
    )["NatGateways"]

    assert outcome.status == "CREATE_COMPLETE", outcome.reasons
    addresses = {gateway["NatGatewayAddresses"][0]["PrivateIp"] for gateway in gateways}
    assert addresses == {"10.0.0.14", "10.0.1.14", "10.0.2.14"}
    assert free_addresses(clients, outcome.ids["Public0"]) == 10
    assert stacks.delete("zones").status == "DELETE_COMPLETE"


def test_nothing_gets_an_address_that_is_taken_or_kept(clients: Clients) -> None:
    ec2 = clients.ec2
    vpc_id = ec2.create_vpc(CidrBlock="10.9.0.0/24")["Vpc"]["VpcId"]
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.9.0.0/28")["Subnet"]["SubnetId"]
    ec2.create_network_interface(SubnetId=subnet_id, PrivateIpAddress="10.9.0.14")

    for address, code in (
        ("10.9.0.14", "InvalidIPAddress.InUse"),
        ("10.9.0.3", "InvalidParameterValue"),
        ("10.9.0.15", "InvalidParameterValue"),
        ("10.8.0.5", "InvalidParameterValue"),
    ):
        with pytest.raises(ec2.exceptions.ClientError, match=code):
            ec2.create_network_interface(SubnetId=subnet_id, PrivateIpAddress=address)
    several = ec2.create_network_interface(
        SubnetId=subnet_id, PrivateIpAddress="10.9.0.13", SecondaryPrivateIpAddressCount=2
    )["NetworkInterface"]["PrivateIpAddresses"]
    made = [address["PrivateIpAddress"] for address in several] + [
        ec2.create_network_interface(SubnetId=subnet_id)["NetworkInterface"]["PrivateIpAddress"]
        for _ in range(7)
    ]
    assert [address["Primary"] for address in several] == [True, False, False]
    assert made[0] == "10.9.0.13"
    assert sorted(map(IPv4Address, made)) == list(IPv4Network("10.9.0.0/28"))[4:14]
    with pytest.raises(ec2.exceptions.ClientError, match="InsufficientFreeAddressesInSubnet"):
        ec2.create_network_interface(SubnetId=subnet_id)


def test_nodes_of_two_clusters_get_the_lowest_addresses_of_a_subnet(clients: Clients) -> None:
    ec2 = clients.ec2
    vpc_id = ec2.create_vpc(CidrBlock="10.9.0.0/24")["Vpc"]["VpcId"]
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.9.0.0/28")["Subnet"]["SubnetId"]
    found = ec2.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])
    (every,) = found["SecurityGroups"]
    ec2.create_network_interface(SubnetId=subnet_id, PrivateIpAddress="10.9.0.5")
    nodes = clusters.group("cpu", vpc_config=VpcConfig((every["GroupId"],), (subnet_id,)))

    both = [SubnetInterfaces(clients, name) for name in ("one", "two")]
    made = [each.create_interface(nodes).private_ip for _ in range(2) for each in both]
    assert made == ["10.9.0.4", "10.9.0.6", "10.9.0.7", "10.9.0.8"]


def test_an_existing_vpc_gets_what_a_stack_brings(stacks: Stacks, clients: Clients) -> None:
    ec2 = clients.ec2
    vpc_id = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.20.0.0/24")["Subnet"]["SubnetId"]
    table_id = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    (prefix_list,) = ec2.describe_managed_prefix_lists(
        Filters=[{"Name": "prefix-list-name", "Values": [S3]}]
    )["PrefixLists"]
    rule = resource(
        "EC2::SecurityGroupEgress",
        GroupId=ref("Group"),
        IpProtocol="tcp",
        FromPort=443,
        ToPort=443,
        DestinationPrefixListId=prefix_list["PrefixListId"],
    )
    resources: Resources = {
        "Group": resource("EC2::SecurityGroup", GroupDescription="nodes", VpcId=vpc_id),
        "ToS3": rule,
        "S3": resource("EC2::VPCEndpoint", VpcId=vpc_id, ServiceName=S3, RouteTableIds=[table_id]),
    }
    brought = stacks.deploy("guest", resources)
    described = {**rule, "Properties": rule["Properties"] | {"Description": "objects"}}
    after = stacks.deploy("guest", {**resources, "ToS3": described})

    assert brought.status == "CREATE_COMPLETE", brought.reasons
    assert after.status == "UPDATE_COMPLETE", after.reasons
    assert after.ids == brought.ids
    (found,) = ec2.describe_security_groups(GroupIds=[brought.ids["Group"]])["SecurityGroups"]
    assert prefix_list["PrefixListId"] in str(found["IpPermissionsEgress"])
    assert stacks.delete("guest").status == "DELETE_COMPLETE"
    assert free_addresses(clients, subnet_id) == 251
    (table,) = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    assert [route["GatewayId"] for route in table["Routes"]] == ["local"]


def test_keys_that_a_type_does_not_have_are_refused_at_any_depth(stacks: Stacks) -> None:
    rule = {"IpProtocol": "-1", "CidrIp": "10.0.0.0/8", "Colour": "red"}
    outcome = stacks.deploy("wrong", {"Vpc": vpc(), "Group": group(SecurityGroupIngress=[rule])})

    assert outcome.status == "REFUSED"
    assert outcome.reasons == (
        "Properties validation failed for AWS::EC2::SecurityGroup (Group) with message: "
        "#/SecurityGroupIngress/0: extraneous key [Colour] is not permitted"
    )
