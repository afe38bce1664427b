"""What the embedded AWS knows from AWS's own resource schemas."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pytest

from embedded_aws.errors import members
from embedded_aws.resources.ec2_network import association_problem
from embedded_aws.resources.registry import PROVIDERS
from embedded_aws.resources.schemas import coerced, create_only_paths, extraneous_keys
from embedded_aws.templates.template import TemplateError, parse_template
from tests.golden_files import ROOT, assert_matches
from tools.resource_schemas import resource_schemas

FILE_SYSTEM = "AWS::FSx::FileSystem"
GROUP = "AWS::EC2::SecurityGroup"
TABLE = ROOT / "embedded_aws" / "data" / "resource_schemas.json"


def test_the_table_of_schemas_is_fresh(update_golden: bool) -> None:
    own = [each for each in PROVIDERS if each.startswith("AWS::") and "::CDK::" not in each]

    assert_matches(TABLE, resource_schemas(own), update=update_golden)


@pytest.mark.parametrize(
    ("resource_type", "properties", "keys"),
    [
        (FILE_SYSTEM, {"LustreConfiguration": {"DeploymentType": "SCRATCH_2"}}, []),
        (
            FILE_SYSTEM,
            {"LustreConfiguration": {"Deployment": "SCRATCH_2"}, "Size": 1200},
            [
                (
                    "#/LustreConfiguration: extraneous key [Deployment] is not permitted "
                    "(did you mean DeploymentType?)"
                ),
                "#: extraneous key [Size] is not permitted",
            ],
        ),
        (
            GROUP,
            {"SecurityGroupIngress": [{"IpProtocol": "-1"}, {"Protocol": "-1"}]},
            [
                (
                    "#/SecurityGroupIngress/1: extraneous key [Protocol] is not permitted "
                    "(did you mean IpProtocol?)"
                )
            ],
        ),
        (
            "AWS::Budgets::Budget",
            {"Budget": {"FilterExpression": {"And": [{"Not": {"Nor": {}}}]}}},
            [
                (
                    "#/Budget/FilterExpression/And/0/Not: extraneous key [Nor] is not permitted "
                    "(did you mean Not?)"
                )
            ],
        ),
        (GROUP, {"SecurityGroupIngress": {"Fn::If": ["Open", [{"Protocol": "-1"}], []]}}, []),
        ("AWS::IAM::Role", {"AssumeRolePolicyDocument": {"Anything": {"goes": "here"}}}, []),
        ("AWS::CDK::Metadata", {"Analytics": "v2"}, []),
        ("Custom::CDKBucketDeployment", {"Anything": 1}, []),
    ],
)
def test_finds_keys_that_a_type_does_not_have(
    resource_type: str, properties: dict[str, Any], keys: list[str]
) -> None:
    assert extraneous_keys(resource_type, properties) == keys


def test_every_type_exists_and_supports_only_what_it_has() -> None:
    for resource_type, provider in PROVIDERS.items():
        unknown = extraneous_keys(resource_type, dict.fromkeys(provider.supported))
        assert unknown == [], resource_type


def test_no_type_can_change_what_aws_replaces() -> None:
    for resource_type, provider in PROVIDERS.items():
        if resource_type.startswith("AWS::") and not resource_type.startswith("AWS::CDK"):
            replaced = {path[0] for path in create_only_paths(resource_type) if len(path) == 1}
            assert not provider.in_place & replaced, resource_type


def test_a_wrong_key_is_refused_with_the_resource_named() -> None:
    body = """{"Resources": {"Files": {"Type": "AWS::FSx::FileSystem", "Properties":
        {"LustreConfiguration": {"RootSquash": "1:1"}}}}}"""
    (definition,) = parse_template(body).resources.values()

    with pytest.raises(TemplateError, match=r"\(Files\) .* extraneous key \[RootSquash\]"):
        PROVIDERS[FILE_SYSTEM].check(definition)


def test_a_file_system_is_replaced_for_what_its_schema_does_not_tell() -> None:
    provider = PROVIDERS[FILE_SYSTEM]

    def lustre(**settings: Any) -> dict[str, Any]:
        return {"FileSystemType": "LUSTRE", "LustreConfiguration": settings}

    assert provider.replaces(lustre(DeploymentType="SCRATCH_2"), lustre(DeploymentType="X"))
    assert provider.replaces(lustre(), lustre(CopyTagsToBackups=True))
    assert not provider.replaces(lustre(), lustre(DataCompressionType="LZ4"))
    assert provider.fixed(lustre(), lustre(DataCompressionType="LZ4")) == []
    assert provider.fixed(lustre(), lustre(EfaEnabled=True)) == ["LustreConfiguration.EfaEnabled"]


def test_knows_what_an_operation_takes() -> None:
    assert "FileSystemId" in members("fsx", "UpdateFileSystem")
    assert "EfaEnabled" in members("fsx", "CreateFileSystem", "LustreConfiguration")
    assert "EfaEnabled" not in members("fsx", "UpdateFileSystem", "LustreConfiguration")


@pytest.mark.parametrize(
    ("existing", "block", "allowed"),
    [
        (["10.0.0.0/16"], "10.1.0.0/16", True),
        (["10.2.0.0/16"], "10.0.0.0/16", True),
        (["10.0.0.0/16"], "100.64.0.0/16", True),
        (["10.0.0.0/16"], "203.0.113.0/24", True),
        (["172.16.0.0/16"], "172.17.0.0/16", True),
        (["192.168.0.0/24"], "192.168.1.0/24", True),
        (["10.1.0.0/16"], "10.0.0.0/16", False),
        (["10.2.0.0/16", "10.1.0.0/16"], "10.0.4.0/24", False),
        (["10.0.0.0/16"], "172.16.0.0/16", False),
        (["10.0.0.0/16"], "192.168.0.0/16", False),
        (["172.16.0.0/16"], "172.31.0.0/16", False),
        (["100.64.0.0/16"], "10.0.0.0/16", False),
        (["10.0.0.0/16"], "198.19.0.0/16", False),
        (["10.0.0.0/16"], "169.254.0.0/16", False),
    ],
)
def test_a_vpc_gets_only_blocks_that_go_with_its_own(
    existing: list[str], block: str, allowed: bool
) -> None:
    problem = association_problem(map(IPv4Network, existing), IPv4Network(block))

    assert (problem is None) is allowed
    assert problem is None or f"The CIDR '{block}' is restricted." in problem


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("10.1.0.0/15", "The CIDR '10.0.0.0/15' is invalid."),
        ("10.1.0.0/29", "The CIDR '10.1.0.0/29' is invalid."),
        ("10.0.128.0/17", "conflicts with the CIDR '10.0.0.0/16' of the VPC"),
    ],
)
def test_a_vpc_gets_no_block_of_the_wrong_size_or_twice(block: str, reason: str) -> None:
    problem = association_problem([IPv4Network("10.0.0.0/16")], IPv4Network(block, strict=False))

    assert reason in str(problem)


def test_texts_numbers_and_booleans_become_what_the_type_has() -> None:
    given = {
        "StorageCapacity": "1200",
        "FileSystemTypeVersion": 2.15,
        "LustreConfiguration": {"EfaEnabled": "true", "PerUnitStorageThroughput": "{{unborn:A}}"},
        "Tags": [{"Key": "level", "Value": 7}, {"Key": "kept", "Value": True}],
    }

    assert coerced(FILE_SYSTEM, given) == {
        "StorageCapacity": 1200,
        "FileSystemTypeVersion": "2.15",
        "LustreConfiguration": {"EfaEnabled": True, "PerUnitStorageThroughput": "{{unborn:A}}"},
        "Tags": [{"Key": "level", "Value": "7"}, {"Key": "kept", "Value": "true"}],
    }


def test_numbers_are_found_below_alternatives_of_structures() -> None:
    volume = {"EbsVolumeConfig": {"VolumeSizeInGB": "500"}}
    properties = {"InstanceGroups": [{"InstanceStorageConfigs": [volume]}]}

    (group,) = coerced("AWS::SageMaker::Cluster", properties)["InstanceGroups"]

    assert group["InstanceStorageConfigs"] == [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}]


def test_a_text_that_is_no_number_is_refused_with_its_place() -> None:
    with pytest.raises(TemplateError, match="#/StorageCapacity: expected type: Integer, found"):
        coerced(FILE_SYSTEM, {"StorageCapacity": "much"})


def test_all_that_is_wrong_with_properties_is_said_at_once() -> None:
    body = """{"Resources": {"Files": {"Type": "AWS::FSx::FileSystem", "Properties":
        {"StorageCapcity": 1, "NetworkType": "IPV4", "OntapConfiguration": {}}}}}"""
    (definition,) = parse_template(body).resources.values()

    with pytest.raises(TemplateError) as refused:
        PROVIDERS[FILE_SYSTEM].check(definition)

    unsupported, misspelt = str(refused.value).splitlines()
    assert "Properties NetworkType, OntapConfiguration of AWS::FSx::FileSystem" in unsupported
    assert "extraneous key [StorageCapcity] is not permitted (did you mean StorageCap" in misspelt
