"""docs/library.md: its apps are synthesized as they are printed, and one is deployed."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from tests.cdk_process import start_of_the_cdk
from tests.cloud.cdk_account import ACCOUNT, REGION, Account
from tests.cloud.library_page import (
    APPS,
    OF_CONSTRUCTS,
    PAGE,
    WITH_A_NETWORK,
    snippets,
    write_files,
)

with start_of_the_cdk():
    from slurmpod_cdk.feature_flags import FEATURE_FLAGS

NAMES = set(re.findall(r"`(research-[a-z]+)`", PAGE))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of somebody else."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def synthesized(folder: Path, text: str) -> Any:
    """Run an app; return what it is in the cloud assembly."""
    (folder / "app.py").write_text(text)
    return runpy.run_path(str(folder / "app.py"))["app"].synth()


@pytest.mark.parametrize("number", range(len(APPS)))
def test_every_app_is_synthesized_as_printed(folder: Path, number: int) -> None:
    assembly = synthesized(folder, APPS[number])
    assert assembly.stacks_recursively


def test_the_page_lists_the_feature_flags() -> None:
    listed = re.findall(r"^\| `(@[^`]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)
    expected = {flag: str(value).lower().strip('"') for flag, value in FEATURE_FLAGS.items()}
    assert {flag: value.strip('"') for flag, value in listed} == expected


@pytest.fixture
def account(folder: Path) -> Iterator[Account]:
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        yield Account(aws)


def test_an_environment_in_a_vpc_of_the_app_is_deployed_and_found(
    folder: Path, account: Account
) -> None:
    assembly = synthesized(folder, WITH_A_NETWORK).directory
    account.bootstrap()
    account.deploy(assembly)
    assert {*NAMES, "Prod-Network", "CDKToolkit"} == account.stacks()

    (cluster,) = account.client("sagemaker").list_clusters()["ClusterSummaries"]
    vpc = account.client("sagemaker").describe_cluster(ClusterName=cluster["ClusterName"])
    subnets = account.client("ec2").describe_subnets(SubnetIds=vpc["VpcConfig"]["Subnets"])
    (own,) = [
        each["PhysicalResourceId"]
        for each in account.client("cloudformation").describe_stack_resources(
            StackName="Prod-Network"
        )["StackResources"]
        if each["ResourceType"] == "AWS::EC2::VPC"
    ]
    assert [each["VpcId"] for each in subnets["Subnets"]] == [own]

    file = str(folder / "cluster.yaml")
    assert "no changes" in account.slurmpod("diff", file).stdout
    assert "no resources are left" in account.slurmpod("adopt", file).stdout


def test_single_constructs_make_a_cluster_with_its_scripts_and_file_systems(
    folder: Path, account: Account
) -> None:
    assembly = synthesized(folder, OF_CONSTRUCTS).directory
    account.bootstrap()
    account.deploy(assembly)

    sagemaker = account.client("sagemaker")
    cluster = sagemaker.describe_cluster(ClusterName="hpc")
    assert cluster["ClusterStatus"] == "InService"
    nodes = sagemaker.list_cluster_nodes(ClusterName="hpc")["ClusterNodeSummaries"]
    assert sorted(node["InstanceGroupName"] for node in nodes) == ["gpus", "gpus", "head", "login"]

    groups = cluster["InstanceGroups"]
    (uri,) = {group["LifeCycleConfig"]["SourceS3Uri"] for group in groups}
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    held = account.client("s3").get_object(Bucket=bucket, Key=f"{prefix}/on_init_complete.sh")
    assert [held["Body"].read().decode()] == snippets("sh")

    systems = account.client("fsx").describe_file_systems()["FileSystems"]
    for group in groups:
        lustre, openzfs = group["InstanceStorageConfigs"]
        mounted = {lustre["FsxLustreConfig"]["DnsName"], openzfs["FsxOpenZfsConfig"]["DnsName"]}
        assert mounted == {each["DNSName"] for each in systems}
