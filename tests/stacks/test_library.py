"""The constructs in other people's CDK apps: plain properties, no environment file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack, aws_ec2, aws_kms, aws_s3
from aws_cdk.assertions import Template
from pydantic import ValidationError

from slurmpod.environment.file_systems import Backups
from slurmpod.environment.lustre import ExistingLustre, Lustre
from slurmpod.environment.openzfs import OpenZfs
from slurmpod_cdk import (
    LifecycleBundle,
    LustreFileSystem,
    NodeSecurityGroup,
    OpenZfsFileSystem,
    WrongProperties,
)
from tests.functional.nothing_lost_kinds import RETAINED
from tests.stacks.synthesis import of_type, only

HERE = Environment(account="111122223333", region="eu-west-1")


class Foreign(Stack):
    """A stack of somebody else, with a network and keys of its own."""

    def __init__(self, env: Environment | None = None) -> None:
        super().__init__(App(), "Foreign", env=env)
        self.vpc = aws_ec2.Vpc(self, "Vpc", max_azs=1)
        self.subnet = self.vpc.private_subnets[0]
        self.group = NodeSecurityGroup(self, "Nodes", vpc=self.vpc)
        self.key = aws_kms.Key(self, "Key")

    @property
    def template(self) -> dict[str, Any]:
        return dict(Template.from_stack(self).to_json())


@pytest.fixture
def foreign() -> Foreign:
    return Foreign()


def lustre(stack: Foreign, settings: Lustre | None = None, **properties: Any) -> LustreFileSystem:
    return LustreFileSystem(
        stack,
        "Data",
        subnet=stack.subnet,
        security_groups=[stack.group],
        settings=settings,
        **properties,
    )


def openzfs(stack: Foreign, settings: OpenZfs | None = None) -> OpenZfsFileSystem:
    return OpenZfsFileSystem(
        stack, "Homes", subnet=stack.subnet, security_groups=[stack.group], settings=settings
    )


def test_a_lustre_file_system_has_the_defaults_of_an_environment(foreign: Foreign) -> None:
    made = lustre(foreign)
    (resource,) = of_type(foreign.template, "AWS::FSx::FileSystem").values()
    assert {key: resource[key] for key in RETAINED} == RETAINED
    assert resource["Properties"]["StorageCapacity"] == 1200
    assert resource["Properties"]["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
        "DataCompressionType": "LZ4",
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
    }
    assert made.mount_path == "/fsx"


def test_the_settings_key_and_name_are_the_users(foreign: Foreign) -> None:
    settings = Lustre(capacity_gib=4800, throughput_mbps_per_tib=500, on_delete="delete")
    lustre(foreign, settings, kms_key=foreign.key, name="scratch")
    (resource,) = of_type(foreign.template, "AWS::FSx::FileSystem").values()
    properties = resource["Properties"]
    assert properties["StorageCapacity"] == 4800
    assert properties["KmsKeyId"]["Fn::GetAtt"][1] == "Arn"
    assert properties["Tags"] == [{"Key": "Name", "Value": "scratch"}]
    assert resource["DeletionPolicy"] == "Delete"


@pytest.mark.parametrize("make", [lustre, openzfs])
def test_file_systems_wait_for_the_rules_of_security_groups(
    foreign: Foreign, make: Callable[[Foreign], object]
) -> None:
    make(foreign)
    (resource,) = of_type(foreign.template, "AWS::FSx::FileSystem").values()
    rules = {id_ for id_ in foreign.template["Resources"] if "Itself" in id_}
    assert rules
    assert rules <= set(resource["DependsOn"])


def test_an_openzfs_file_system_has_the_defaults_of_an_environment(foreign: Foreign) -> None:
    made = openzfs(foreign)
    properties = only(foreign.template, "AWS::FSx::FileSystem")
    configuration = properties["OpenZFSConfiguration"]
    assert (properties["StorageCapacity"], configuration["ThroughputCapacity"]) == (256, 160)
    assert made.mount_path == "/home"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Lustre(capacity_gib=1300), "capacity_gib: .*: write 1200 or 2400"),
        (Lustre(throughput_mbps_per_tib=12), "throughput_mbps_per_tib: .*125, 250, 500 or 1000"),
        (Lustre(deployment_type="SCRATCH_2", backups=Backups()), "backups: .*persistent"),
        (Lustre(efa=True), "capacity_gib: .*multiple of 19200"),
        (Lustre(existing=ExistingLustre(id="fs-01234567", mount_name="abc")), "existing: "),
    ],
)
def test_lustre_that_fsx_does_not_have_is_refused(
    foreign: Foreign, settings: Lustre, said: str
) -> None:
    with pytest.raises(WrongProperties, match=f"LustreFileSystem Foreign/Data .*\n  {said}"):
        lustre(foreign, settings)


def test_a_key_for_scratch_is_refused(foreign: Foreign) -> None:
    with pytest.raises(WrongProperties, match="kms_key_arn: scratch file systems take no key"):
        lustre(foreign, Lustre(deployment_type="SCRATCH_2"), kms_key=foreign.key)


def test_openzfs_that_fsx_does_not_have_is_refused(foreign: Foreign) -> None:
    with pytest.raises(WrongProperties, match=r"throughput_mbps: .*160, 320"):
        openzfs(foreign, OpenZfs(throughput_mbps=100))


def test_values_outside_of_limits_are_refused_at_once() -> None:
    with pytest.raises(ValidationError, match=r"capacity_gib\n.*greater than or equal to 1200"):
        Lustre(capacity_gib=12)


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    (tmp_path / "on_create.sh").write_text("#!/bin/bash\necho hello\n")
    (tmp_path / "settings.json").write_text('{"file_system": "@DNS_NAME@"}\n')
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "left.pyc").write_bytes(b"over")
    return tmp_path


def bundle(stack: Foreign, scripts: Path, **properties: Any) -> LifecycleBundle:
    given = {"source": scripts, "entry_script": "on_create.sh", **properties}
    return LifecycleBundle(stack, "Scripts", **given)


def test_a_bundle_without_a_bucket_has_a_closed_one_that_is_kept(
    foreign: Foreign, scripts: Path
) -> None:
    bundle(foreign, scripts)
    ((id_, resource),) = of_type(foreign.template, "AWS::S3::Bucket").items()
    assert {key: resource[key] for key in RETAINED} == RETAINED
    properties = resource["Properties"]
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert properties["BucketEncryption"]
    policy = only(foreign.template, "AWS::S3::BucketPolicy")
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert policy["Bucket"] == {"Ref": id_}


def test_a_bundle_goes_into_a_foreign_bucket_under_a_hash_of_its_content(
    foreign: Foreign, scripts: Path
) -> None:
    bucket = aws_s3.Bucket.from_bucket_name(foreign, "Theirs", "their-bucket")
    made = bundle(foreign, scripts, bucket=bucket)
    assert not of_type(foreign.template, "AWS::S3::Bucket")
    assert re.fullmatch(r"s3://their-bucket/lifecycle/[0-9a-f]{12}", made.source_s3_uri)
    assert (made.folder, made.entry_script) == ("lifecycle", "on_create.sh")
    (scripts / "more.sh").write_text("")
    assert bundle(Foreign(), scripts, bucket=bucket).source_s3_uri != made.source_s3_uri


def test_files_with_placeholders_get_values_of_the_deployment(
    foreign: Foreign, scripts: Path
) -> None:
    data = lustre(foreign)
    bundle(foreign, scripts, values={"@DNS_NAME@": data.dns_name})
    deployed = only(foreign.template, "Custom::CDKBucketDeployment")
    assert "DNSName" in json.dumps(deployed["SourceMarkers"])


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"entry_script": "on_init.sh"}, "entry_script: .*; there: on_create.sh, settings.json"),
        ({"values": {"@NOWHERE@": "x"}}, "values: no file has the placeholder '@NOWHERE@'"),
        ({"source": "/nowhere"}, "source: /nowhere does not exist: name a folder"),
    ],
)
def test_a_bundle_that_nodes_could_not_start_is_refused(
    foreign: Foreign, scripts: Path, properties: dict[str, Any], said: str
) -> None:
    with pytest.raises(WrongProperties, match=f"LifecycleBundle Foreign/Scripts .*\n  {said}"):
        bundle(foreign, scripts, **properties)
