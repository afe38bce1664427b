"""What an environment names as the user's own is put into the embedded AWS, under its own ids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from embedded_aws.clients import Clients
from slurmpod.reading.read import read_as
from slurmpod.rehearsal.existing_resources import make_existing_resources
from slurmpod.resolve import Resolved, resolve
from tests.cloud.embedded_stacks import ACCOUNT, running_stacks
from tests.sound_environment import SOUND

KEY = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/0f0e0d0c-1111-2222-3333-444455556666"
SECRET = f"arn:aws:secretsmanager:us-west-2:{ACCOUNT}:secret:slurm/dbd-AbCdEf"
NETWORK = """
  zone: usw2-az2
  existing:
    vpc_id: vpc-0a1b2c3d4e5f60718
    subnets:
      - {id: subnet-0a1b2c3d4e5f60718, zone: usw2-az2}
      - {id: subnet-0a1b2c3d4e5f60719, zone: us-west-2a, cidr: 10.9.0.0/20}
    security_group_ids: [sg-0a1b2c3d4e5f60718]
    route_table_ids: [rtb-0a1b2c3d4e5f60718]
"""
FILE_SYSTEMS = """\
  additional_lustre:
    - name: archive
      mount_path: /archive
      existing: {id: fs-0123456789abcdef0, mount_name: fsx12345}
  openzfs:
    existing: {id: fs-0123456789abcdef1}
"""
ENVIRONMENT = (
    SOUND.replace("\n  zone: us-west-2b\n  vpc_cidr: 10.0.0.0/16\n", NETWORK)
    .replace("123456789012", ACCOUNT)
    .replace("1200\n", f"1200\n    kms_key_arn: {KEY}\n")
    .replace("cluster:", f"{FILE_SYSTEMS}cluster:")
    .replace("cluster:", "  s3_mounts: [{bucket: a-bucket-of-ours, mount_path: /data}]\ncluster:")
    + f"slurm: {{accounting_database: {{endpoint: db.example.com, secret_arn: '{SECRET}'}}}}\n"
)


def resolved(text: str) -> Resolved:
    loaded = read_as("environment.yaml", text)
    assert loaded.environment is not None, loaded.problems
    return resolve(loaded)


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    for stacks in running_stacks():
        for _ in range(2):  # the second time everything is there
            make_existing_resources(stacks.clients, resolved(ENVIRONMENT))
        yield stacks.clients


def test_the_network_has_the_ids_that_are_named(clients: Clients) -> None:
    of_vpc: Any = [{"Name": "vpc-id", "Values": ["vpc-0a1b2c3d4e5f60718"]}]
    subnets = clients.ec2.describe_subnets(Filters=of_vpc)["Subnets"]
    assert {each["SubnetId"]: each["CidrBlock"] for each in subnets} == {
        "subnet-0a1b2c3d4e5f60718": "10.0.0.0/20",
        "subnet-0a1b2c3d4e5f60719": "10.9.0.0/20",
    }
    assert subnets[0]["AvailabilityZoneId"] == "usw2-az2"
    (group,) = clients.ec2.describe_security_groups(GroupIds=["sg-0a1b2c3d4e5f60718"])[
        "SecurityGroups"
    ]
    assert group["IpPermissions"][0]["UserIdGroupPairs"][0]["GroupId"] == group["GroupId"]
    tables = clients.ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
    assert "rtb-0a1b2c3d4e5f60718" in {table["RouteTableId"] for table in tables}


def test_another_environment_can_add_to_the_network(clients: Clients) -> None:
    more = "- {id: subnet-0a1b2c3d4e5f60720, zone: usw2-az3, cidr: 10.11.0.0/20}"
    make_existing_resources(
        clients,
        resolved(
            ENVIRONMENT.replace("    security_group_ids", f"      {more}\n    security_group_ids")
        ),
    )
    (vpc,) = clients.ec2.describe_vpcs(VpcIds=["vpc-0a1b2c3d4e5f60718"])["Vpcs"]
    blocks = {each["CidrBlock"] for each in vpc["CidrBlockAssociationSet"]}
    assert blocks == {"10.0.0.0/16", "10.9.0.0/16", "10.11.0.0/16"}


def test_keys_buckets_and_secrets_are_there(clients: Clients) -> None:
    assert clients.service("kms").describe_key(KeyId=KEY)["KeyMetadata"]["Arn"] == KEY
    policy = clients.service("kms").get_key_policy(KeyId=KEY, PolicyName="default")["Policy"]
    assert "logs.us-west-2.amazonaws.com" in policy
    assert [each["Name"] for each in clients.s3.list_buckets()["Buckets"]] == ["a-bucket-of-ours"]
    secret = clients.service("secretsmanager").get_secret_value(SecretId=SECRET)
    assert (secret["ARN"], secret["Name"]) == (SECRET, "slurm/dbd")
    assert set(json.loads(secret["SecretString"])) == {"username", "password"}


def test_file_systems_are_there_in_the_network(clients: Clients) -> None:
    lustre, openzfs = clients.fsx.describe_file_systems(
        FileSystemIds=["fs-0123456789abcdef0", "fs-0123456789abcdef1"]
    )["FileSystems"]
    assert (lustre["FileSystemType"], openzfs["FileSystemType"]) == ("LUSTRE", "OPENZFS")
    assert lustre["LustreConfiguration"]["MountName"] == "fsx12345"
    assert lustre["VpcId"] == openzfs["VpcId"] == "vpc-0a1b2c3d4e5f60718"


def test_file_systems_lie_in_the_accounts_own_network_when_the_environments_is_new(
    clients: Clients,
) -> None:
    existing = "existing: {id: fs-0123456789abcdef2, mount_name: fsx54321}"
    make_existing_resources(clients, resolved(SOUND.replace("capacity_gib: 1200", existing)))
    (lustre,) = clients.fsx.describe_file_systems(FileSystemIds=["fs-0123456789abcdef2"])[
        "FileSystems"
    ]
    assert lustre["LustreConfiguration"]["MountName"] == "fsx54321"
