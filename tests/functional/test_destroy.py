"""`cdk destroy` of a real environment: what goes, and what must survive."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from slurmpod.nodejs import node_executable
from slurmpod.rehearsal.cdk import CDK, PROJECT
from slurmpod.rehearsal.cloud.cloud_only import CloudOnlyPlatform
from slurmpod.rehearsal.cloud.isolation import isolated_environment
from slurmpod.rehearsal.cloud.server import EmbeddedAws

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCOUNT, REGION = "123456789012", "us-west-2"
ABOVE_THE_NETWORK = ("dev-cluster", "dev-identity", "dev-lifecycle", "dev-storage")
BUCKET = "sagemaker-dev-123456789012-us-west-2"


class Account:
    """An embedded account with the environment dev in it."""

    def __init__(self, aws: EmbeddedAws) -> None:
        self._variables = isolated_environment(os.environ, aws.environment())
        self._endpoint = aws.endpoint

    def client(self, service: str) -> Any:
        session = boto3.session.Session(region_name=REGION)
        return session.client(service, endpoint_url=self._endpoint)  # type: ignore[call-overload]

    def stacks(self) -> set[str]:
        stacks = self.client("cloudformation").describe_stacks()["Stacks"]
        return {stack["StackName"] for stack in stacks}

    def cdk(self, *arguments: str) -> None:
        result = self.run_cdk(*arguments)
        assert result.returncode == 0, result.stdout

    def run_cdk(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(node_executable()), str(PROJECT / CDK), *arguments]
        search_path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            command,
            cwd=PROJECT,
            env={**self._variables, "PATH": search_path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture(scope="module")
def destroyed() -> Iterator[Account]:
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        account = Account(aws)
        account.cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", "")
        account.cdk("deploy", "--all", "--context", "env=dev", "--require-approval", "never")
        account.cdk("destroy", *ABOVE_THE_NETWORK, "--context", "env=dev", "--force")
        yield account


class TestDestroy:
    def test_removes_the_cluster(self, destroyed: Account) -> None:
        assert destroyed.stacks() == {"CDKToolkit", "dev-network"}
        sagemaker = destroyed.client("sagemaker")
        assert sagemaker.list_clusters()["ClusterSummaries"] == []

    def test_keeps_the_file_system(self, destroyed: Account) -> None:
        (file_system,) = destroyed.client("fsx").describe_file_systems()["FileSystems"]
        assert file_system["Lifecycle"] == "AVAILABLE"

    def test_keeps_the_bucket_with_its_bundle(self, destroyed: Account) -> None:
        listed = destroyed.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="lifecycle/")
        assert any(item["Key"].endswith("/on_create.sh") for item in listed["Contents"])

    def test_the_network_stays_as_long_as_the_file_system_is_in_it(
        self, destroyed: Account
    ) -> None:
        destroy_network = ("destroy", "dev-network", "--context", "env=dev", "--force")
        failed = destroyed.run_cdk(*destroy_network)
        assert failed.returncode == 1
        assert "Created by Amazon FSx" in failed.stdout

        fsx = destroyed.client("fsx")
        (file_system,) = fsx.describe_file_systems()["FileSystems"]
        fsx.delete_file_system(FileSystemId=file_system["FileSystemId"])
        destroyed.cdk(*destroy_network)
        assert destroyed.stacks() == {"CDKToolkit"}
