"""docs/library.md: its app is synthesized and deployed as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_aws.clients import Clients
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.isolation import isolated_environment
from embedded_aws.server import EmbeddedAws
from slurmpod.nodejs import node_executable
from tests.functional.cdk_account import ACCOUNT, REGION
from tests.golden_files import ROOT

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
APP = "hpc_app.py"


def printed(beginning: str) -> str:
    """Return the page's one block of code that begins so."""
    found = re.findall(rf"^```\w+\n({re.escape(beginning)}.*?)^```$", PAGE, re.DOTALL | re.M)
    assert len(found) == 1, f"{len(found)} blocks begin with {beginning}"
    return str(found[0])


def write_app(folder: Path) -> None:
    """Write the files of the page's app."""
    (folder / "lifecycle").mkdir(parents=True)
    (folder / APP).write_text(printed(f"# {APP}"))
    (folder / "lifecycle" / "on_init_complete.sh").write_text(printed("#!/bin/bash"))


def cdk(aws: EmbeddedAws, folder: Path, *arguments: str) -> str:
    """Run the real CDK CLI in the folder of the app."""
    variables = isolated_environment(os.environ, aws.environment())
    search_path = f"{Path(sys.executable).parent}:{variables['PATH']}"
    done = subprocess.run(
        [str(node_executable()), str(ROOT / "node_modules/aws-cdk/bin/cdk"), *arguments],
        cwd=folder,
        env={**variables, "PATH": search_path, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    """Deploy the app, with the command of the page."""
    folder = tmp_path_factory.mktemp("library")
    write_app(folder)
    command = ["deploy", "--all", "--app", f"python {APP}"]
    assert f'npx cdk deploy --all --app "python {APP}"' in PAGE
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        cdk(aws, folder, "bootstrap", f"aws://{ACCOUNT}/{REGION}")
        cdk(aws, folder, *command, "--require-approval", "never")
        yield aws.clients()


def test_the_cluster_is_in_service_with_its_nodes(deployed: Clients) -> None:
    cluster = deployed.sagemaker.describe_cluster(ClusterName="hpc")
    assert cluster["ClusterStatus"] == "InService"
    nodes = deployed.sagemaker.list_cluster_nodes(ClusterName="hpc")["ClusterNodeSummaries"]
    assert sorted(node["InstanceGroupName"] for node in nodes) == ["gpus", "gpus", "head", "login"]


def test_nodes_find_their_scripts_where_the_cluster_says(deployed: Clients) -> None:
    groups = deployed.sagemaker.describe_cluster(ClusterName="hpc")["InstanceGroups"]
    (uri,) = {group["LifeCycleConfig"]["SourceS3Uri"] for group in groups}
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    held = deployed.s3.get_object(Bucket=bucket, Key=f"{prefix}/on_init_complete.sh")
    assert held["Body"].read().decode() == printed("#!/bin/bash")


def test_hyperpod_mounts_the_file_systems(deployed: Clients) -> None:
    groups = deployed.sagemaker.describe_cluster(ClusterName="hpc")["InstanceGroups"]
    systems = {each["DNSName"] for each in deployed.fsx.describe_file_systems()["FileSystems"]}
    for group in groups:
        lustre, openzfs = group["InstanceStorageConfigs"]
        mounted = {lustre["FsxLustreConfig"]["DnsName"], openzfs["FsxOpenZfsConfig"]["DnsName"]}
        assert mounted == systems
