"""RDS servers in stacks of the embedded AWS: made, changed, refused, deleted, kept."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import Resources, Stacks, att, ref, resource

AWS_CLI = str(Path(sys.executable).with_name("aws"))
ZONES = ("us-west-2a", "us-west-2b")
NETWORK: Resources = {
    "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
    **{
        f"Subnet{number}": resource(
            "EC2::Subnet",
            VpcId=ref("Vpc"),
            CidrBlock=f"10.0.{number}.0/24",
            AvailabilityZone=zone,
        )
        for number, zone in enumerate(ZONES)
    },
    "Access": resource("EC2::SecurityGroup", VpcId=ref("Vpc"), GroupDescription="db"),
}
SUBNETS = resource(
    "RDS::DBSubnetGroup",
    DBSubnetGroupDescription="db",
    SubnetIds=[ref("Subnet0"), ref("Subnet1")],
)


def database(policy: str = "Delete", **properties: Any) -> Resources:
    """Return a stack's resources, with one server."""
    server = resource(
        "RDS::DBInstance",
        **{
            "AllocatedStorage": "50",
            "DBInstanceClass": "db.t4g.medium",
            "DBParameterGroupName": ref("Parameters"),
            "DBSubnetGroupName": ref("Subnets"),
            "Engine": "mariadb",
            "EngineVersion": "10.11",
            "ManageMasterUserPassword": True,
            "MasterUsername": "admin",
            "MaxAllocatedStorage": 100,
            "VPCSecurityGroups": [att("Access", "GroupId")],
            **properties,
        },
    )
    parameters = resource(
        "RDS::DBParameterGroup",
        Family=f"mariadb{properties.get('EngineVersion', '10.11')}",
        Description="db",
        Parameters={"require_secure_transport": "1"},
    )
    return {
        **NETWORK,
        "Subnets": SUBNETS,
        "Parameters": parameters,
        "Server": {**server, "DeletionPolicy": policy},
    }


def described(clients: Clients, identifier: str) -> Any:
    found = clients.service("rds").describe_db_instances(DBInstanceIdentifier=identifier)
    return found["DBInstances"][0]


def password(clients: Clients, identifier: str) -> Mapping[str, str]:
    arn = described(clients, identifier)["MasterUserSecret"]["SecretArn"]
    text = clients.service("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
    secret: Mapping[str, str] = json.loads(text)
    return secret


@pytest.fixture
def fresh(stacks: Stacks) -> Iterator[Stacks]:
    """Return stacks of which the one called `db` is deleted afterwards."""
    yield stacks
    names = stacks.clients.service("cloudformation").describe_stacks()["Stacks"]
    if any(stack["StackName"] == "db" for stack in names):
        stacks.delete("db")


def test_a_server_has_a_password_that_nobody_chose(fresh: Stacks, clients: Clients) -> None:
    outputs = {
        "Endpoint": att("Server", "Endpoint.Address"),
        "Secret": att("Server", "MasterUserSecret.SecretArn"),
    }
    made = fresh.deploy("db", database(), **outputs)
    assert made.status == "CREATE_COMPLETE", made.reasons
    server = described(clients, made.ids["Server"])
    assert made.outputs["Endpoint"] == server["Endpoint"]["Address"]
    assert made.outputs["Secret"] == server["MasterUserSecret"]["SecretArn"]
    secret = password(clients, made.ids["Server"])
    assert secret["username"] == "admin"
    assert len(secret["password"]) == 28
    assert not set(secret["password"]) & set("/'\"@ ")


def test_a_rotation_makes_another_password(fresh: Stacks, clients: Clients) -> None:
    identifier = fresh.deploy("db", database()).ids["Server"]
    before = password(clients, identifier)["password"]
    clients.service("rds").modify_db_instance(
        DBInstanceIdentifier=identifier, RotateMasterUserPassword=True, ApplyImmediately=True
    )
    assert password(clients, identifier)["password"] != before


def test_a_server_takes_an_address_and_holds_what_it_stands_on(
    fresh: Stacks, clients: Clients
) -> None:
    made = fresh.deploy("db", database())
    filters: Any = [{"Name": "group-id", "Values": [made.ids["Access"]]}]
    interfaces = clients.ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]
    assert [each["SubnetId"] for each in interfaces] == [made.ids["Subnet0"]]
    rds = clients.service("rds")
    with pytest.raises(rds.exceptions.ClientError, match="still using it"):
        rds.delete_db_subnet_group(DBSubnetGroupName=made.ids["Subnets"])
    with pytest.raises(rds.exceptions.ClientError, match="still members"):
        rds.delete_db_parameter_group(DBParameterGroupName=made.ids["Parameters"])
    fresh.delete("db")
    assert not clients.ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"AllocatedStorage": "80"}, {"AllocatedStorage": 80}),
        ({"MaxAllocatedStorage": 400}, {"MaxAllocatedStorage": 400}),
        ({"DBInstanceClass": "db.m7g.large"}, {"DBInstanceClass": "db.m7g.large"}),
        ({"MultiAZ": True}, {"MultiAZ": True}),
        ({"BackupRetentionPeriod": 35}, {"BackupRetentionPeriod": 35}),
        (
            {"EngineVersion": "11.4", "AllowMajorVersionUpgrade": True},
            {"EngineVersion": "11.4"},
        ),
        (
            {"EnableCloudwatchLogsExports": ["error"]},
            {"EnabledCloudwatchLogsExports": ["error"]},
        ),
    ],
)
def test_changes_in_place_what_rds_can_change(
    fresh: Stacks, clients: Clients, properties: dict[str, Any], expected: dict[str, Any]
) -> None:
    made = fresh.deploy("db", database())
    changed = fresh.deploy("db", database(**properties))
    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    assert changed.ids["Server"] == made.ids["Server"]
    assert expected.items() <= described(clients, made.ids["Server"]).items()


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"AllocatedStorage": "40"}, "cannot shrink"),
        ({"MaxAllocatedStorage": 54}, "at least 10% greater"),
    ],
)
def test_what_rds_refuses_is_rolled_back(
    fresh: Stacks, clients: Clients, properties: dict[str, Any], reason: str
) -> None:
    made = fresh.deploy("db", database())
    failed = fresh.deploy("db", database(**properties))
    assert failed.status == "UPDATE_ROLLBACK_COMPLETE"
    assert reason in failed.reasons
    assert described(clients, made.ids["Server"])["AllocatedStorage"] == 50


def test_a_named_server_is_not_replaced_by_an_empty_one(fresh: Stacks, clients: Clients) -> None:
    kept = database(DBInstanceIdentifier="records", StorageEncrypted=True)
    fresh.deploy("db", kept)
    failed = fresh.deploy("db", database(DBInstanceIdentifier="records", DBName="other"))
    assert failed.status == "UPDATE_ROLLBACK_COMPLETE"
    assert described(clients, "records")["StorageEncrypted"]


def test_a_protected_server_is_not_deleted(fresh: Stacks, clients: Clients) -> None:
    made = fresh.deploy("db", database(DeletionProtection=True))
    failed = fresh.delete("db")
    assert failed.status == "DELETE_FAILED"
    assert "Cannot delete protected DB Instance" in failed.reasons
    assert described(clients, made.ids["Server"])
    clients.service("rds").modify_db_instance(
        DBInstanceIdentifier=made.ids["Server"], DeletionProtection=False, ApplyImmediately=True
    )


def test_a_last_snapshot_is_made_where_the_policy_says_so(fresh: Stacks, clients: Clients) -> None:
    made = fresh.deploy("db", database("Snapshot"))
    assert fresh.delete("db").status == "DELETE_COMPLETE"
    snapshots = clients.service("rds").describe_db_snapshots(SnapshotType="manual")["DBSnapshots"]
    assert [each["DBInstanceIdentifier"] for each in snapshots] == [made.ids["Server"]]


def test_subnets_of_one_zone_are_refused(fresh: Stacks) -> None:
    resources = database()
    resources["Subnet1"]["Properties"] |= {"AvailabilityZone": ZONES[0]}
    failed = fresh.deploy("db", resources)
    resources["Subnet1"]["Properties"] |= {"AvailabilityZone": ZONES[1]}
    assert failed.status == "ROLLBACK_COMPLETE"
    assert "cover at least 2 AZs" in failed.reasons


def test_what_makes_no_snapshots_refuses_that_policy(fresh: Stacks) -> None:
    log_group = {**resource("Logs::LogGroup"), "DeletionPolicy": "Snapshot"}
    fresh.deploy("logs", {"Logs": log_group})
    assert "not supported for AWS::Logs::LogGroup" in fresh.delete("logs").reasons


def test_the_aws_command_line_describes_it(fresh: Stacks) -> None:
    identifier = fresh.deploy("db", database()).ids["Server"]
    command = [AWS_CLI, "rds", "describe-db-instances", "--output", "json"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [each["DBInstanceIdentifier"] for each in json.loads(found)["DBInstances"]] == [
        identifier
    ]
