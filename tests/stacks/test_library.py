"""The constructs in other people's CDK apps: plain properties, no environment file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack, aws_ec2, aws_kms
from aws_cdk.assertions import Template
from pydantic import ValidationError

from slurmpod.environment.file_systems import Backups
from slurmpod.environment.lustre import ExistingLustre, Lustre
from slurmpod.environment.openzfs import OpenZfs
from slurmpod_cdk import LustreFileSystem, NodeSecurityGroup, OpenZfsFileSystem, WrongProperties
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
