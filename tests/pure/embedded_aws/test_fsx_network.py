"""What the embedded FSx asks of subnets and security groups, and of folders linked to buckets."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.errors import ServiceError
from embedded_aws.fsx.associations import (
    association_refusals,
    bucket_of,
)
from embedded_aws.fsx.requirements import lustre_network_refusals, network_refusals
from tests.pure.embedded_aws.test_lustre import lustre, scratch, tiering, versioned
from tests.pure.embedded_aws.test_openzfs import openzfs

SUBNET = {"SubnetId": "subnet-1", "VpcId": "vpc-1", "CidrBlock": "10.0.1.0/24"}
EVERYTHING = {"IpProtocol": "-1"}
LUSTRE = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988}


def rule(ports: dict[str, Any], *, peer: str | None = None, cidr: str | None = None) -> Any:
    return {
        **ports,
        "UserIdGroupPairs": [{"GroupId": peer}] if peer else [],
        "IpRanges": [{"CidrIp": cidr}] if cidr else [],
    }


def group(*ingress: Any, egress: Any = None, vpc: str = "vpc-1") -> Any:
    return {
        "GroupId": "sg-1",
        "VpcId": vpc,
        "IpPermissions": list(ingress),
        "IpPermissionsEgress": [egress] if egress else [],
    }


@pytest.mark.parametrize(
    ("ingress", "reachable"),
    [
        (rule(EVERYTHING, peer="sg-1"), True),
        (rule(LUSTRE, peer="sg-1"), True),
        (rule(LUSTRE, cidr="10.0.0.0/16"), True),
        (rule({"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535}, cidr="10.0.1.0/24"), True),
        (rule(EVERYTHING, peer="sg-2"), False),
        (rule(LUSTRE, cidr="10.0.1.0/25"), False),
        (rule({"IpProtocol": "udp", "FromPort": 988, "ToPort": 988}, peer="sg-1"), False),
        (rule({"IpProtocol": "tcp", "FromPort": 989, "ToPort": 1023}, peer="sg-1"), False),
    ],
)
def test_the_servers_of_lustre_must_reach_each_other(ingress: Any, reachable: bool) -> None:
    problems = list(lustre_network_refusals(SUBNET, [group(ingress)], efa=False))

    assert (problems == []) is reachable
    for problem in problems:
        assert problem.code == "InvalidNetworkSettings"
        assert "Lustre LNET network traffic on port 988" in problem.message


def test_efa_needs_a_group_open_to_itself_in_both_directions() -> None:
    itself, elsewhere = rule(EVERYTHING, peer="sg-1"), rule(EVERYTHING, cidr="0.0.0.0/0")

    assert not list(lustre_network_refusals(SUBNET, [group(itself, egress=itself)], efa=True))
    (problem,) = lustre_network_refusals(SUBNET, [group(itself, egress=elsewhere)], efa=True)
    assert "to and from itself; sg-1 does not" in problem.message


def test_groups_are_of_the_subnets_vpc() -> None:
    (problem,) = network_refusals(SUBNET, [group(vpc="vpc-2")])

    assert problem.message == "Security group sg-1 is in vpc-2, but subnet subnet-1 in vpc-1"


def link(path: str = "/data", repository: str = "s3://bucket/data/") -> dict[str, Any]:
    return {"FileSystemId": "fs-1", "FileSystemPath": path, "DataRepositoryPath": repository}


def others(*paths: str) -> list[dict[str, Any]]:
    return [link(path, f"s3://other/{number}/") for number, path in enumerate(paths)]


@pytest.mark.parametrize(
    ("file_system", "existing", "request_"),
    [
        (lustre(), [], link()),
        (versioned("2.12"), others("/data2"), link()),
        (lustre(), others("/data/a", "/data/b"), link("/data/c")),
        (scratch(1200) | {"FileSystemTypeVersion": "2.15"}, [], link("/")),
    ],
)
def test_links_folders_to_buckets(
    file_system: dict[str, Any], existing: list[dict[str, Any]], request_: dict[str, Any]
) -> None:
    assert list(association_refusals(file_system, existing, request_)) == []


@pytest.mark.parametrize(
    ("file_system", "existing", "request_", "code", "reason"),
    [
        (scratch(1200), [], link(), "UnsupportedOperation", "does not support data repository"),
        (tiering(), [], link(), "UnsupportedOperation", "does not support data repository"),
        (openzfs(), [], link(), "UnsupportedOperation", "does not support data repository"),
        (lustre(), others("/data"), link("/data/"), "BadRequest", "overlaps"),
        (lustre(), others("/data"), link("/data/inner"), "BadRequest", "overlaps"),
        (lustre(), others("/data/inner"), link("/data"), "BadRequest", "overlaps"),
        (lustre(), others("/data"), link("/"), "BadRequest", "overlaps"),
        (lustre(), others(*map(str, range(8))), link(), "ServiceLimitExceeded", "8 data"),
        (lustre(), [link("/other")], link(), "BadRequest", "is linked to the file system already"),
        (lustre(), [], link("data"), "BadRequest", "must begin with a slash"),
        (
            lustre(AutomaticBackupRetentionDays=7),
            [],
            link(),
            "BadRequest",
            "Backups cannot be created on S3-linked file systems",
        ),
    ],
)
def test_refuses_links_that_fsx_refuses(
    file_system: dict[str, Any],
    existing: list[dict[str, Any]],
    request_: dict[str, Any],
    code: str,
    reason: str,
) -> None:
    (problem,) = association_refusals(file_system, existing, request_)

    assert problem.code == code
    assert reason in problem.message


def test_reads_the_bucket_of_a_repository() -> None:
    assert bucket_of("s3://my-data/imagenet/") == bucket_of("s3://my-data") == "my-data"
    with pytest.raises(ServiceError, match="s3://bucket/prefix/"):
        bucket_of("nfs://server/export")
