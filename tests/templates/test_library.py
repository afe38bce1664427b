"""The constructs in other people's CDK apps: plain properties, no environment file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import (
    App,
    Environment,
    Stack,
    Validations,
    aws_ec2,
    aws_iam,
    aws_kms,
    aws_logs,
    aws_s3,
)
from aws_cdk.assertions import Annotations, Match, Template
from cdk_nag import AwsSolutionsChecks
from pydantic import ValidationError

from slurmpod.environment.file_systems import Backups
from slurmpod.environment.lustre import ExistingLustre, RootSquash
from slurmpod.request.interfaces import HasRoleArn
from slurmpod_cdk import (
    ClusterProperties,
    Group,
    InstanceGroup,
    LifecycleBundle,
    Lustre,
    LustreFileSystem,
    NodeRoles,
    NodeSecurityGroup,
    OpenZfs,
    OpenZfsFileSystem,
    Role,
    SlurmCluster,
    WrongProperties,
)
from slurmpod_cdk.library_waivers import accept_known_findings, library_waivers
from slurmpod_cdk.nag.review import findings, uncovered
from tests.cloud.nothing_lost_kinds import RETAINED
from tests.templates.synthesis import of_type, only

HERE = Environment(account="111122223333", region="eu-west-1")


class Foreign(Stack):
    """A stack of somebody else, with a network and keys of its own."""

    def __init__(self, env: Environment | None = None) -> None:
        self.app = App()
        super().__init__(self.app, "Foreign", env=env)
        self.vpc = aws_ec2.Vpc(self, "Vpc", max_azs=1)
        self.subnet = self.vpc.private_subnets[0]
        self.group = NodeSecurityGroup(self, "Nodes", vpc=self.vpc)
        self.key = aws_kms.Key(self, "Key")
        self.role = aws_iam.Role.from_role_arn(self, "Role", "arn:aws:iam::111122223333:role/nodes")

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
    beginning, *_ = properties["BucketName"]["Fn::Join"][1]
    assert re.fullmatch("sagemaker-[a-z0-9-]{10,24}-", beginning)
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
    bucket = aws_s3.Bucket.from_bucket_name(foreign, "Theirs", "sagemaker-theirs")
    made = bundle(foreign, scripts, bucket=bucket)
    assert not of_type(foreign.template, "AWS::S3::Bucket")
    assert re.fullmatch(r"s3://sagemaker-theirs/lifecycle/[0-9a-f]{12}", made.source_s3_uri)
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


def test_a_bucket_that_the_managed_policy_does_not_read_gets_a_warning(scripts: Path) -> None:
    def warnings(bucket_of: Callable[[Foreign], aws_s3.IBucket]) -> list[str]:
        stack = Foreign()
        bundle(stack, scripts, bucket=bucket_of(stack))
        found = Annotations.from_stack(stack).find_warning("*", Match.any_value())
        return [str(warning.entry.data) for warning in found]

    for bucket_of, said in (
        (lambda stack: aws_s3.Bucket.from_bucket_name(stack, "B", "theirs"), "'theirs'"),
        (lambda stack: aws_s3.Bucket(stack, "B", bucket_name="theirs"), "'theirs'"),
        (lambda stack: aws_s3.Bucket(stack, "B"), "with a generated name"),
    ):
        (warning,) = warnings(bucket_of)
        policy = "AmazonSageMakerClusterInstanceRolePolicy"
        assert re.match(f"{policy} .*{said}.*: allow the nodes' role", warning)
    assert not warnings(lambda stack: aws_s3.Bucket.from_bucket_name(stack, "B", "sagemaker-b"))


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"entry_script": "on_init.sh"}, "entry_script: .*; found: on_create.sh, settings.json"),
        ({"values": {"@NOWHERE@": "x"}}, "values: no file has the placeholder '@NOWHERE@'"),
        ({"source": "/nowhere"}, "source: /nowhere does not exist: name a folder"),
    ],
)
def test_a_bundle_that_nodes_could_not_start_is_refused(
    foreign: Foreign, scripts: Path, properties: dict[str, Any], said: str
) -> None:
    with pytest.raises(WrongProperties, match=f"LifecycleBundle Foreign/Scripts .*\n  {said}"):
        bundle(foreign, scripts, **properties)


CONTROLLER = Group(name="head", role=Role.CONTROLLER, instance_type="ml.m5.large")
WORKERS = Group(
    name="gpus", role=Role.WORKER, instance_type="ml.g5.xlarge", count=3, partition="gpu"
)


def cluster(
    stack: Foreign, *groups: Group, role: HasRoleArn | None = None, **properties: Any
) -> SlurmCluster:
    given = groups or (CONTROLLER, WORKERS)
    all_of_it = ClusterProperties(
        name="theirs",
        groups=[InstanceGroup(group, role or stack.role) for group in given],
        subnet=stack.subnet,
        security_groups=[stack.group],
        **properties,
    )
    return SlurmCluster(stack, "Cluster", all_of_it)


def test_a_cluster_without_scripts_leaves_slurm_and_mounts_to_hyperpod(foreign: Foreign) -> None:
    data, homes = lustre(foreign), openzfs(foreign)
    made = cluster(foreign, lustre=data, openzfs=homes, tags={"team": "ml"})
    request = only(foreign.template, "AWS::SageMaker::Cluster")
    head, gpus = request["InstanceGroups"]
    assert (head["SlurmConfig"], gpus["SlurmConfig"]) == (
        {"NodeType": "Controller"},
        {"NodeType": "Compute", "PartitionNames": ["gpu"]},
    )
    mounts = [next(iter(each)) for each in gpus["InstanceStorageConfigs"]]
    assert mounts == ["FsxLustreConfig", "FsxOpenZfsConfig"]
    assert (gpus["InstanceCount"], gpus["ThreadsPerCore"]) == (3, 2)
    assert gpus["ExecutionRole"] == foreign.role.role_arn
    assert "LifeCycleConfig" not in gpus
    assert request["VpcConfig"]["Subnets"] == [foreign.resolve(foreign.subnet.subnet_id)]
    assert request["Tags"] == [{"Key": "team", "Value": "ml"}]
    assert foreign.resolve(made.cluster_arn)["Fn::GetAtt"][1] == "ClusterArn"


@pytest.mark.parametrize(("mode", "member"), [(None, "OnInitComplete"), ("customer", "OnCreate")])
def test_a_cluster_starts_after_its_scripts_and_roles_are_there(
    foreign: Foreign, scripts: Path, mode: Any, member: str
) -> None:
    role = aws_iam.Role(
        foreign, "Own", assumed_by=aws_iam.ServicePrincipal("sagemaker.amazonaws.com")
    )
    foreign.key.grant_decrypt(role)
    made = bundle(foreign, scripts)
    cluster(foreign, role=role, lifecycle=made, lifecycle_mode=mode)
    ((_, resource),) = of_type(foreign.template, "AWS::SageMaker::Cluster").items()
    assert [group["LifeCycleConfig"] for group in resource["Properties"]["InstanceGroups"]] == [
        {"SourceS3Uri": foreign.resolve(made.source_s3_uri), member: "on_create.sh"}
    ] * 2
    awaited = {foreign.template["Resources"][id_]["Type"] for id_ in resource["DependsOn"]}
    assert {"AWS::IAM::Policy", "Custom::CDKBucketDeployment"} <= awaited


def test_groups_can_have_subnets_and_keys_of_their_own(foreign: Foreign) -> None:
    other = aws_ec2.Subnet.from_subnet_id(foreign, "Other", "subnet-0123456789abcdef0")
    settings = WORKERS.model_copy(update={"volume_gib": 500})
    properties = ClusterProperties(
        name="theirs",
        groups=[
            InstanceGroup(CONTROLLER, foreign.role),
            InstanceGroup(settings, foreign.role, subnet=other, volume_key=foreign.key),
        ],
        subnet=foreign.subnet,
        security_groups=[foreign.group],
        provisioning="continuous",
    )
    SlurmCluster(foreign, "Cluster", properties)
    _, gpus = only(foreign.template, "AWS::SageMaker::Cluster")["InstanceGroups"]
    assert gpus["OverrideVpcConfig"]["Subnets"] == ["subnet-0123456789abcdef0"]
    (volume,) = gpus["InstanceStorageConfigs"]
    assert volume["EbsVolumeConfig"] == {
        "VolumeSizeInGB": 500,
        "VolumeKmsKeyId": foreign.resolve(foreign.key.key_arn),
    }


def test_a_key_without_a_volume_is_refused(foreign: Foreign) -> None:
    keyed = InstanceGroup(WORKERS, foreign.role, volume_key=foreign.key)
    properties = ClusterProperties(
        name="theirs",
        groups=[InstanceGroup(CONTROLLER, foreign.role), keyed],
        subnet=foreign.subnet,
        security_groups=[foreign.group],
        provisioning="continuous",
    )
    with pytest.raises(WrongProperties, match=r"groups\.1\.volume_kms_key_arn: .*add volume_gib"):
        SlurmCluster(foreign, "Cluster", properties)


@pytest.mark.parametrize(
    ("groups", "properties", "said"),
    [
        ([WORKERS], {}, "groups: .*controller"),
        ([CONTROLLER, WORKERS, WORKERS], {}, "groups.2.name: "),
        ([CONTROLLER, WORKERS.model_copy(update={"partition": None})], {}, "groups.1.partition: "),
        ([CONTROLLER, WORKERS.model_copy(update={"min_count": 4})], {}, "groups.1.min_count: "),
        ([CONTROLLER, WORKERS], {"lifecycle_mode": "extended"}, "lifecycle: .*'managed'"),
        (
            [CONTROLLER, WORKERS],
            {"config_strategy": "Merge", "provisioning": "continuous"},
            "config_strategy: ",
        ),
    ],
)
def test_clusters_that_hyperpod_would_not_make_are_refused(
    foreign: Foreign, groups: list[Group], properties: dict[str, Any], said: str
) -> None:
    with pytest.raises(WrongProperties, match=f"SlurmCluster Foreign/Cluster .*\n  {said}"):
        cluster(foreign, *groups, **properties)


def roles(stack: Foreign, **properties: Any) -> NodeRoles:
    return NodeRoles(
        stack,
        "Roles",
        cluster_name="theirs",
        subnets=[stack.subnet],
        security_groups=[stack.group],
        **properties,
    )


def allowed(template: dict[str, Any], role: str) -> dict[str, Any]:
    """Return the statements of a role's policies by their ids, those of grants by their actions."""
    ((logical_id, resource),) = (
        (id_, each)
        for id_, each in of_type(template, "AWS::IAM::Role").items()
        if id_.startswith(f"Roles{role}")
    )
    policies = [policy["PolicyDocument"] for policy in resource["Properties"]["Policies"]]
    policies += [
        each["Properties"]["PolicyDocument"]
        for each in of_type(template, "AWS::IAM::Policy").values()
        if {"Ref": logical_id} in each["Properties"]["Roles"]
    ]
    statements = [statement for policy in policies for statement in policy["Statement"]]
    return {each.get("Sid") or str(each["Action"]): each for each in statements}


def test_roles_may_do_what_the_table_of_permissions_says_and_no_more() -> None:
    foreign = Foreign(HERE)
    roles(foreign)
    for role in ("Controller", "Login", "Worker"):
        found = allowed(foreign.template, role)
        assert found.keys() == {
            "CreateLogGroups",
            "CreateNetworkInterfaces",
            "DescribeNetwork",
            "DetachNetworkInterfaces",
            "ManageNetworkInterfaces",
            "PutMetrics",
            "TakeSessions",
            "WriteLogs",
        }
        logs = json.dumps(found["CreateLogGroups"]["Resource"])
        assert ":logs:eu-west-1:111122223333:log-group:/aws/sagemaker/Clusters/theirs/*" in logs


def test_roles_read_the_scripts_wherever_they_lie(foreign: Foreign, scripts: Path) -> None:
    bucket = aws_s3.Bucket(
        foreign, "Theirs", bucket_name="sagemaker-theirs", encryption_key=foreign.key
    )
    roles(foreign, lifecycle=bundle(foreign, scripts, bucket=bucket))
    found = allowed(foreign.template, "Worker")
    assert "kms:Decrypt" in found
    objects = found["GetLifecycleScripts"]["Resource"]["Fn::Join"][1]
    assert foreign.resolve(bucket.bucket_name) in objects
    assert objects[-1] == "/lifecycle/*"


def test_roles_use_keys_and_log_groups_of_others(foreign: Foreign) -> None:
    group = aws_logs.LogGroup(foreign, "Theirs")
    roles(foreign, volume_keys=[foreign.key], log_groups=[group], has_efa_file_systems=True)
    found = allowed(foreign.template, "Controller")
    assert found["UseVolumeKeys"]["Resource"] == foreign.resolve(foreign.key.key_arn)
    assert found["['logs:CreateLogStream', 'logs:PutLogEvents']"]
    assert found["DescribeFileSystems"]


def test_everybody_gets_a_role_of_their_own(foreign: Foreign) -> None:
    made = roles(foreign)
    assert len({made.controller.role_arn, made.login.role_arn, made.worker.role_arn}) == 3
    trusted = {
        json.dumps(each["Properties"]["AssumeRolePolicyDocument"])
        for id_, each in of_type(foreign.template, "AWS::IAM::Role").items()
        if id_.startswith("Roles")
    }
    assert len(trusted) == 1
    assert "sagemaker.amazonaws.com" in trusted.pop()


@pytest.mark.parametrize("env", [HERE, None])
def test_what_cdk_nag_finds_in_the_constructs_is_known(
    env: Environment | None, scripts: Path
) -> None:
    foreign = Foreign(env)
    squashed = Lustre(root_squash=RootSquash(user="65534:65534"))
    data, homes = lustre(foreign, squashed), openzfs(foreign)
    made = bundle(foreign, scripts)
    role = roles(foreign, lifecycle=made, has_efa_file_systems=True).worker
    cluster(foreign, role=role, lustre=data, openzfs=homes, lifecycle=made)
    left = uncovered(findings(foreign), tuple(library_waivers(foreign)))
    assert {finding.path.split("/")[1] for finding in left} == {"Key", "Vpc"}


def test_known_findings_are_acknowledged_and_others_stay(foreign: Foreign, scripts: Path) -> None:
    bundle(foreign, scripts)
    accept_known_findings(foreign.app)
    Validations.of(foreign.app).add_plugins(AwsSolutionsChecks(foreign.app))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        foreign.app.synth()
    report = (Path(foreign.app.outdir) / "validation-report.json").read_text()
    assert "Foreign/Vpc" in report
    assert "Foreign/Scripts" not in report
    assert "Custom::CDKBucketDeployment" not in report
