"""File systems of every kind that environments may have, as stacks create and delete them."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_file_systems import KINDS, NETWORK, lustre
from tests.cloud.embedded_stacks import (
    Resources,
    Stacks,
    att,
    ref,
    resource,
)


def free_addresses(clients: Clients, subnet_id: str) -> int:
    (found,) = clients.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    return found["AvailableIpAddressCount"]


@pytest.mark.parametrize(
    ("kind", "addresses"),
    [("scratch", 2), ("disks", 2), ("efa", 2), ("tiering", 3), ("everything", 2), ("openzfs", 3)],
)
def test_every_kind_comes_and_goes(
    stacks: Stacks, clients: Clients, kind: str, addresses: int
) -> None:
    outputs = {"Dns": att("Files", "DNSName"), "Arn": att("Files", "ResourceARN")}
    own = "RootVolumeId" if kind == "openzfs" else "LustreMountName"
    made = stacks.deploy(kind, {**NETWORK, "Files": KINDS[kind]}, **outputs, Own=att("Files", own))

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert made.outputs["Dns"].startswith(f"{made.ids['Files']}.fsx.us-west-2.")
    assert made.outputs["Arn"].endswith(f":file-system/{made.ids['Files']}")
    assert made.outputs["Own"]
    assert free_addresses(clients, made.ids["Subnet"]) == 251 - addresses

    assert stacks.delete(kind).status == "DELETE_COMPLETE"
    assert clients.fsx.describe_file_systems()["FileSystems"] == []


@pytest.mark.parametrize(
    ("resources", "reason"),
    [
        (
            {"Files": {**lustre(), "DependsOn": []}, "In": {**NETWORK["In"], "DependsOn": "Files"}},
            "do not permit Lustre LNET network traffic on port 988",
        ),
        (
            {
                "Files": {
                    **lustre(4800, PerUnitStorageThroughput=1000, EfaEnabled=True),
                    "DependsOn": ["In"],
                },
                "Out": {**NETWORK["Out"], "DependsOn": "Files"},
            },
            "A file system with EFA needs a security group that allows all",
        ),
        (
            {"Subnet": resource("EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.0.0/28"),
             "Files": lustre(24000, MetadataConfiguration={"Mode": "USER_PROVISIONED",
                                                           "Iops": 24000})},
            "does not have enough free addresses",
        ),
    ],
)  # fmt: skip
def test_what_the_network_does_not_allow_fails(
    stacks: Stacks, clients: Clients, resources: Resources, reason: str
) -> None:
    outcome = stacks.deploy("network", {**NETWORK, **resources})

    assert outcome.status == "ROLLBACK_COMPLETE"
    assert reason in outcome.reasons
    assert clients.fsx.describe_file_systems()["FileSystems"] == []
    stacks.delete("network")


def test_a_file_system_needs_a_key_that_exists(stacks: Stacks, clients: Clients) -> None:
    key = clients.service("kms").create_key()["KeyMetadata"]["Arn"]
    missing = key[:-12] + "000000000000"
    refused = stacks.deploy("nokey", {**NETWORK, "Files": _encrypted(missing)})
    stacks.delete("nokey")
    made = stacks.deploy("key", {**NETWORK, "Files": _encrypted(key)})
    other = clients.service("kms").create_key()["KeyMetadata"]["Arn"]
    changed = stacks.deploy("key", {**NETWORK, "Files": _encrypted(other)})
    (found,) = clients.fsx.describe_file_systems()["FileSystems"]
    stacks.delete("key")

    assert "does not exist" in refused.reasons
    assert changed.ids["Files"] != made.ids["Files"]
    assert found["KmsKeyId"] == other


def _encrypted(key: str) -> dict[str, Any]:
    made = lustre()
    return {**made, "Properties": {**made["Properties"], "KmsKeyId": key}}


def test_an_environment_may_have_several_file_systems(stacks: Stacks, clients: Clients) -> None:
    several = {**NETWORK, **{name.title(): kind for name, kind in KINDS.items()}}
    made = stacks.deploy("several", several)

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert len(clients.fsx.describe_file_systems()["FileSystems"]) >= len(KINDS)
    interfaces = clients.ec2.describe_network_interfaces(
        Filters=[{"Name": "subnet-id", "Values": [made.ids["Subnet"]]}]
    )["NetworkInterfaces"]
    addresses = [a["PrivateIpAddress"] for i in interfaces for a in i["PrivateIpAddresses"]]
    assert len(set(addresses)) == len(addresses) == 14
    assert stacks.delete("several").status == "DELETE_COMPLETE"
