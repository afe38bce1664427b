"""`slurmpod preflight` names what stops nodes in an existing VPC of an embedded AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from embedded_aws.existing import Existing
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from tests.cloud.embedded_stacks import ACCOUNT, REGION
from tests.cloud.test_preflight import EXISTING, GROUP, SUBNET, VPC, Account

OTHER_SUBNET, OTHER_GROUP = "subnet-0a1b2c3d4e5f60719", "sg-0a1b2c3d4e5f60719"
FILES, NFS = "fs-0123456789abcdef0", "fs-0123456789abcdef1"
LUSTRE = EXISTING.replace("capacity_gib: 1200", f"existing: {{id: {FILES}, mount_name: fsx12345}}")
TWO_SUBNETS = LUSTRE.replace(
    "subnets: [", f"subnets: [{{id: {OTHER_SUBNET}, zone: usw2-az1, cidr: 10.0.1.0/28}}, "
)
EVERYTHING = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
DATABASE = "records"
SECRET = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:slurm/dbd-AbCdEf"


@dataclass(frozen=True)
class Network:
    """An existing VPC with a way out, nodes' group and another one, and what is done to them."""

    account: Account

    @property
    def ec2(self) -> Any:
        return self.account.aws.ec2

    def finds(self, text: str = LUSTRE) -> dict[str, str]:
        return self.account.finds(text, "paths")

    def let(
        self, group: str, peer: str, *ports: int, way: str = "ingress", on: bool = True
    ) -> None:
        """Add or remove rules of a group for TCP ports of another one."""
        act = ("authorize" if on else "revoke") + f"_security_group_{way}"
        rules = [
            {
                "IpProtocol": "tcp",
                "FromPort": port,
                "ToPort": port,
                "UserIdGroupPairs": [{"GroupId": peer}],
            }
            for port in ports
        ]
        getattr(self.ec2, act)(GroupId=group, IpPermissions=rules)

    def of_vpc(self, kind: str, member: str) -> Any:
        return getattr(self.ec2, f"describe_{kind}")(Filters=[{"Name": "vpc-id", "Values": [VPC]}])[
            member
        ]


@pytest.fixture
def network() -> Iterator[Network]:
    with EmbeddedAws(account=ACCOUNT, region=REGION, quotas={}) as aws:
        aws.start(CloudOnlyPlatform())
        made = Network(Account(aws.clients(), {}, aws.endpoint))
        own = Existing(aws.clients())
        own.vpc(VPC, ["10.0.0.0/16"])
        own.subnet(SUBNET, VPC, cidr="10.0.0.0/28", zone="usw2-az2")
        own.subnet(OTHER_SUBNET, VPC, cidr="10.0.1.0/28", zone="usw2-az1")
        own.route_table("rtb-0a1b2c3d4e5f60718", VPC)
        for group in (GROUP, OTHER_GROUP):
            own.security_group(group, VPC)
        _lead_out(made)
        place = {"SubnetIds": [SUBNET], "SecurityGroupIds": [GROUP]}
        own.lustre(FILES, "fsx12345", place)
        yield made


def _lead_out(network: Network) -> None:
    main = next(
        each["RouteTableId"]
        for each in network.of_vpc("route_tables", "RouteTables")
        if any(association.get("Main") for association in each["Associations"])
    )
    address = network.ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = network.ec2.create_nat_gateway(SubnetId=SUBNET, AllocationId=address)["NatGateway"]
    network.ec2.create_route(
        RouteTableId=main, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat["NatGatewayId"]
    )


def test_what_is_in_one_group_is_reached(network: Network) -> None:
    assert network.finds() == {}
    assert network.finds(TWO_SUBNETS) == {}


def test_a_file_system_of_another_group_needs_rules_in_both_groups(network: Network) -> None:
    (files,) = network.account.aws.fsx.describe_file_systems()["FileSystems"]
    for interface in files["NetworkInterfaceIds"]:
        network.ec2.modify_network_interface_attribute(
            NetworkInterfaceId=interface, Groups=[OTHER_GROUP]
        )
    found = network.finds()["PRE-321"]
    assert found.startswith(f"{FILES} cannot be mounted: {OTHER_GROUP} has no inbound rule for tcp")
    assert found.endswith(f"({GROUP})")
    ports = (988, 1018, 1023)
    network.let(OTHER_GROUP, GROUP, *ports)
    assert f"{GROUP} has no inbound rule for tcp 988 from" in network.finds()["PRE-321"]
    network.let(GROUP, OTHER_GROUP, *ports)
    assert network.finds() == {}
    network.let(OTHER_GROUP, GROUP, 1023, on=False)
    assert "no inbound rule for tcp 1023" in network.finds()["PRE-321"]


def test_a_group_that_slurmpod_makes_is_in_no_rule_of_others(network: Network) -> None:
    new = LUSTRE.replace(f"    security_group_ids: [{GROUP}]\n", "")
    assert "the nodes' new group" in network.finds(new)["PRE-321"]


def test_openzfs_needs_nfs_only(network: Network) -> None:
    text = LUSTRE.replace("  lustre:", f"  openzfs: {{existing: {{id: {NFS}}}}}\n  lustre:")
    place = {"SubnetIds": [SUBNET], "SecurityGroupIds": [OTHER_GROUP]}
    Existing(network.account.aws).openzfs(NFS, place)
    assert f"{NFS} cannot be mounted: {OTHER_GROUP} has" in network.finds(text)["PRE-321"]
    network.let(OTHER_GROUP, GROUP, 2049)
    assert network.finds(text) == {}


def test_network_acls_between_subnets(network: Network) -> None:
    (acl,) = (each["NetworkAclId"] for each in network.of_vpc("network_acls", "NetworkAcls"))
    network.ec2.create_network_acl_entry(
        NetworkAclId=acl,
        RuleNumber=1,
        Protocol="6",
        RuleAction="deny",
        Egress=False,
        CidrBlock="10.0.0.0/16",
        PortRange={"From": 32768, "To": 65535},
    )
    assert network.finds() == {}  # one subnet
    found = network.finds(TWO_SUBNETS)
    assert set(found) == {"PRE-322"}
    assert f"{acl} of {SUBNET} lets no tcp 32768-60999 in from" in found["PRE-322"]


def test_srun_needs_more_ports_than_slurm(network: Network) -> None:
    everything = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": GROUP}]}
    network.ec2.revoke_security_group_ingress(GroupId=GROUP, IpPermissions=[everything])
    network.let(GROUP, GROUP, 6817, 6818, 6819)
    assert "no inbound rule for tcp 32768" in network.finds()["PRE-322"]
    network.let(GROUP, GROUP, 60001)
    assert "PRE-322" not in network.finds()
    others = f"{LUSTRE}slurm: {{settings: {{SrunPortRange: 61000-62000}}}}\n"
    assert "no inbound rule for tcp 61000" in network.finds(others)["PRE-322"]


def test_a_subnet_without_a_way_to_aws(network: Network) -> None:
    for table in network.of_vpc("route_tables", "RouteTables"):
        for route in table["Routes"]:
            if route.get("DestinationCidrBlock") == "0.0.0.0/0":
                network.ec2.delete_route(
                    RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0"
                )
    found = network.finds()["PRE-325"]
    assert found.startswith("nodes do not reach logs, ssm, ssmmessages: rtb-")  # S3 gets a gateway
    assert found.endswith(f"of {SUBNET} has no route")
    endpoints = "  interface_endpoints: [logs, ssm, ssmmessages]\n  existing:"
    assert network.finds(LUSTRE.replace("  existing:", endpoints, 1)) == {}


def test_an_endpoint_whose_group_lets_nobody_in(network: Network) -> None:
    network.ec2.create_vpc_endpoint(
        VpcId=VPC,
        ServiceName=f"com.amazonaws.{REGION}.ssm",
        VpcEndpointType="Interface",
        PrivateDnsEnabled=True,
        SubnetIds=[SUBNET],
        SecurityGroupIds=[OTHER_GROUP],
    )
    found = network.finds()["PRE-325"]
    assert found.startswith(
        f"nodes do not reach ssm: {OTHER_GROUP} has no inbound rule for tcp 443"
    )
    network.let(OTHER_GROUP, GROUP, 443)
    assert network.finds() == {}


def test_name_servers_that_are_not_the_vpcs(network: Network) -> None:
    for servers, is_found in ((["10.0.0.2"], False), (["AmazonProvidedDNS", "10.9.0.53"], True)):
        options = network.ec2.create_dhcp_options(
            DhcpConfigurations=[{"Key": "domain-name-servers", "Values": servers}]
        )["DhcpOptions"]["DhcpOptionsId"]
        network.ec2.associate_dhcp_options(DhcpOptionsId=options, VpcId=VPC)
        assert ("PRE-326" in network.finds()) == is_found
    assert network.finds()["PRE-326"] == "the VPC's DHCP options name 10.9.0.53"


def test_an_endpoint_whose_policy_keeps_nodes_from_their_scripts(network: Network) -> None:
    def policy(resource: str) -> str:
        statement = {
            "Effect": "Allow",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": resource,
        }
        return json.dumps({"Version": "2012-10-17", "Statement": [statement]})

    endpoint = network.ec2.create_vpc_endpoint(
        VpcId=VPC, ServiceName=f"com.amazonaws.{REGION}.s3", PolicyDocument=policy("*")
    )["VpcEndpoint"]["VpcEndpointId"]
    assert network.finds() == {}
    network.ec2.modify_vpc_endpoint(
        VpcEndpointId=endpoint, PolicyDocument=policy("arn:aws:s3:::ours/*")
    )
    assert (
        f"the policy of {endpoint} does not allow reading sagemaker-dev-"
        in network.finds()["PRE-327"]
    )


@pytest.mark.parametrize(
    ("uri", "port", "why"),
    [
        ("ldaps://10.0.0.9", 636, f"{GROUP} has no outbound rule for tcp 636 to 10.0.0.9"),
        ("ldaps://ldap.corp.io:1636", 1636, f"{GROUP} allow no outbound tcp 1636"),
    ],
)
def test_a_directory_behind_a_port_that_is_not_let_out(
    network: Network, uri: str, port: int, why: str
) -> None:
    directory = f"access: {{directory: {{uris: ['{uri}'], base_dn: 'dc=corp'}}}}\ncluster:"
    text = LUSTRE.replace("cluster:", directory, 1)
    assert network.finds(text) == {}
    network.ec2.revoke_security_group_egress(GroupId=GROUP, IpPermissions=[EVERYTHING])
    itself = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": GROUP}]}
    network.ec2.revoke_security_group_egress(GroupId=GROUP, IpPermissions=[itself])
    assert network.finds(text)["PRE-324"] == f"{uri} is not reached: {why}"
    out = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port}
    network.ec2.authorize_security_group_egress(
        GroupId=GROUP, IpPermissions=[{**out, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}]
    )
    assert "PRE-324" not in network.finds(text)


def test_a_database_whose_group_lets_no_nodes_in(network: Network) -> None:
    rds = network.account.aws.service("rds")
    rds.create_db_subnet_group(
        DBSubnetGroupName=DATABASE,
        DBSubnetGroupDescription=DATABASE,
        SubnetIds=[SUBNET, OTHER_SUBNET],
    )
    made = rds.create_db_instance(
        DBInstanceIdentifier=DATABASE,
        DBInstanceClass="db.t4g.small",
        Engine="mariadb",
        EngineVersion="10.11",
        AllocatedStorage=20,
        MasterUsername="admin",
        MasterUserPassword="not-a-secret",
        DBSubnetGroupName=DATABASE,
        VpcSecurityGroupIds=[OTHER_GROUP],
    )["DBInstance"]
    server = f"{{endpoint: {made['Endpoint']['Address']}, secret_arn: '{SECRET}'}}"
    text = f"{LUSTRE}slurm: {{accounting_database: {server}}}\n"
    found = network.finds(text)["PRE-323"]
    assert f"is not reached: {OTHER_GROUP} has no inbound rule for tcp 3306 from" in found
    network.let(OTHER_GROUP, GROUP, 3306)
    assert network.finds(text) == {}
