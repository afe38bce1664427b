"""What CreateCluster and UpdateCluster refuse, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.errors import ServiceError
from embedded_aws.sagemaker.requests import check_request, updated_request
from embedded_aws.sagemaker.rules import refusals
from slurmpod.environment.catalog import instance_types
from tests.pure.embedded_aws.cluster_requests import (
    COMPUTE,
    CONTROLLER,
    DATABASE,
    LIFECYCLE,
    LUSTRE,
    OPENZFS,
    ROLE,
    VPC,
    group,
    placed,
    request,
    stored,
)

LOGIN = {"NodeType": "Login"}
ON_INIT = {"SourceS3Uri": "s3://sagemaker-scripts/v1", "OnInitComplete": "extend.sh"}
EKS = "arn:aws:eks:us-west-2:111122223333:cluster/x"


def workers(**more: Any) -> dict[str, Any]:
    """Return a request with a controller and one worker group that has more."""
    return request(group("head", SlurmConfig=CONTROLLER), group("w", SlurmConfig=COMPUTE, **more))


@pytest.mark.parametrize(
    "asked",
    [
        request(),
        request(group("controller"), group("workers", 0)),
        placed(NodeRecovery="Automatic", Orchestrator={"Slurm": {"SlurmConfigStrategy": "Merge"}}),
        request(
            group("head", SlurmConfig=CONTROLLER, LifeCycleConfig=None),
            group("login", SlurmConfig=LOGIN, LifeCycleConfig=ON_INIT),
            group("cpu", 0, SlurmConfig=COMPUTE, LifeCycleConfig=None),
        ),
        workers(
            ThreadsPerCore=2,
            MinInstanceCount=1,
            OverrideVpcConfig=VPC,
            TrainingPlanArn="arn:aws:sagemaker:us-west-2:111122223333:training-plan/p",
            ScheduledUpdateConfig={"ScheduleExpression": "cron(0 0 1 * ? *)"},
            AutoPatchConfig={"PatchingStrategy": "WhenIdle"},
            ImageId="ami-0123456789abcdef0",
            NetworkInterface={"InterfaceType": "efa-only"},
            CapacityRequirements={"Spot": {}},
        ),
        workers(LifeCycleConfig={**LIFECYCLE, "SourceS3Uri": "s3://any-bucket/v1"}),
        workers(InstanceType="ml.p5.48xlarge", OnStartDeepHealthChecks=["InstanceStress"]),
        stored(
            {"EbsVolumeConfig": {"VolumeSizeInGB": 500}},
            {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": "abc"}},
            {"FsxLustreConfig": LUSTRE},
            {"FsxOpenZfsConfig": OPENZFS},
        ),
        {
            **workers(InstanceType=None, InstanceRequirements={"InstanceTypes": ["ml.c5.large"]}),
            "NodeProvisioningMode": "Continuous",
            "Orchestrator": {"Slurm": {"AccountingDatabase": DATABASE}},
        },
    ],
)
def test_accepts_what_hyperpod_with_slurm_offers(asked: dict[str, Any]) -> None:
    check_request(asked, instance_types())


CREATION = [
    (request(group("a"), group("a")), "InstanceGroupName a is used 2 times"),
    (request(Orchestrator={"Eks": {"ClusterArn": EKS}}), "Slurm clusters only"),
    (request(Orchestrator={}), "exactly one orchestrator configuration: either Eks or Slurm"),
    ({**request(), "VpcConfig": {}}, "VpcConfig is required"),
    (request(AutoScaling={"Mode": "Enable"}), "AutoScaling is not supported by the embedded AWS"),
    (request(TieredStorageConfig={"Mode": "Enable"}), "TieredStorageConfig is not supported"),
    ({**workers(OverrideVpcConfig=VPC), "VpcConfig": {}}, "needs a VpcConfig of the cluster"),
    # the groups' machines
    (workers(MinInstanceCount=2), "MinInstanceCount exceeds InstanceCount"),
    (
        workers(InstanceRequirements={"InstanceTypes": ["ml.c5.large"]}),
        "either InstanceType or InstanceRequirements",
    ),
    (
        workers(InstanceType="ml.m6g.large", ThreadsPerCore=2),
        "ThreadsPerCore 2 of instance group w is not valid for ml.m6g.large, which has 1",
    ),
    (workers(OnStartDeepHealthChecks=["InstanceStress"]), "ml.c5.large: they test GPUs"),
    (
        request(
            group(
                "head",
                SlurmConfig=CONTROLLER,
                InstanceType="ml.g5.xlarge",
                OnStartDeepHealthChecks=["InstanceStress"],
            )
        ),
        "run on worker nodes only",
    ),
    (workers(KubernetesConfig={"Labels": {}}), "is for EKS clusters only"),
    (workers(ImageReleaseVersion="1.2.3"), "is for EKS clusters only"),
    # LifeCycleConfig
    (
        request(group("a", LifeCycleConfig={})),
        "LifeCycleConfig for instance group a is provided but contains no configuration",
    ),
    (
        request(group("a", LifeCycleConfig={"OnCreate": "x.sh"})),
        "LifeCycleConfig for instance group a is incomplete",
    ),
    (
        request(group("a", LifeCycleConfig={**LIFECYCLE, "OnInitComplete": "x.sh"})),
        "OnCreate and OnInitComplete in LifeCycleConfig are mutually exclusive",
    ),
    # SlurmConfig
    (
        request(group("a", LifeCycleConfig=None)),
        "Cluster must have exactly one InstanceGroup with Controller node type",
    ),
    (
        request(group("a", SlurmConfig=COMPUTE)),
        "Cluster must have exactly one InstanceGroup with Controller node type",
    ),
    (
        placed(group("other", SlurmConfig=CONTROLLER)),
        "2 Controller Groups found: SlurmConfig for InstanceGroups may only have one Controller",
    ),
    (
        placed(group("l1", SlurmConfig=LOGIN), group("l2", SlurmConfig=LOGIN)),
        "2 Login groups found",
    ),
    (placed(group("other")), "Instance group other needs SlurmConfig"),
    (
        request(group("a", SlurmConfig={**CONTROLLER, "PartitionNames": ["cpu"]})),
        "Partitions can only be assigned to Compute node types",
    ),
    (placed(group("b", SlurmConfig={"NodeType": "Compute"})), "needs a name in PartitionNames"),
    (request(group("a", 2, SlurmConfig=CONTROLLER)), "must have InstanceCount 1"),
    # storage
    (stored({"EbsVolumeConfig": {}}), "secondary volume of instance group workers needs Volume"),
    (stored({"EbsVolumeConfig": {"RootVolume": True}}), "needs VolumeKmsKeyId"),
    (
        stored({"EbsVolumeConfig": {"RootVolume": True, "VolumeSizeInGB": 1}}),
        "VolumeSizeInGB of the root volume of instance group workers cannot be chosen",
    ),
    (
        stored(*[{"EbsVolumeConfig": {"VolumeSizeInGB": 1}}] * 2),
        "configures its secondary volume 2 times",
    ),
    (stored({"FsxLustreConfig": LUSTRE, "FsxOpenZfsConfig": OPENZFS}), "needs exactly one kind"),
    (stored(*[{"FsxLustreConfig": LUSTRE}] * 2), "at most one FsxLustreConfig; workers has 2"),
    (
        stored({"FsxLustreConfig": LUSTRE}, {"FsxOpenZfsConfig": {**OPENZFS, "MountPath": "/fsx"}}),
        "mounts two file systems at /fsx",
    ),
    (
        {**stored({"FsxLustreConfig": LUSTRE}), "VpcConfig": {}},
        "FSx configurations are only supported for Custom VPC",
    ),
    (
        request(group("a", InstanceStorageConfigs=[{"FsxLustreConfig": LUSTRE}])),
        "FSx configurations need an instance group whose SlurmConfig has NodeType Controller",
    ),
    # provisioning mode
    (
        placed(
            NodeProvisioningMode="Continuous",
            Orchestrator={"Slurm": {"SlurmConfigStrategy": "Merge"}},
        ),
        "SlurmConfigStrategy is not allowed with NodeProvisioningMode Continuous",
    ),
    (request(NodeProvisioningMode="Continuous"), "Continuous needs SlurmConfig"),
    (
        placed(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}}),
        "AccountingDatabase needs NodeProvisioningMode Continuous",
    ),
    (
        workers(InstanceType=None, InstanceRequirements={"InstanceTypes": ["ml.c5.large"]}),
        "InstanceRequirements of instance group w needs NodeProvisioningMode Continuous",
    ),
]


@pytest.mark.parametrize(("asked", "reason"), CREATION)
def test_refuses_what_the_service_refuses(asked: dict[str, Any], reason: str) -> None:
    assert [text for text in refusals(asked, instance_types()) if reason in text]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ClusterName": "not_a_name"}, "'not_a_name' at 'clusterName' .* regular expression"),
        ({"ClusterName": "x" * 64}, "'clusterName' .* length less than or equal to 63"),
        ({"NodeRecovery": "Sometimes"}, r"'nodeRecovery' .* enum value set: \[Automatic, None\]"),
        (
            {"InstanceGroups": [group("a", InstanceType="ml.nope")]},
            "'ml.nope' at 'instanceGroups.1.member.instanceType' .* enum",
        ),
        (
            {"InstanceGroups": [group("a", ThreadsPerCore=3)]},
            "'3' at 'instanceGroups.1.member.threadsPerCore' .* less than or equal to 2",
        ),
        (
            {"InstanceGroups": [{"InstanceGroupName": "a", "InstanceCount": 1}]},
            "null at 'instanceGroups.1.member.executionRole' .* must not be null",
        ),
        (
            {"InstanceGroups": [group("a", TrainingPlanArn="x" * 50)]},
            "trainingPlanArn' .* regular expression",
        ),
        (
            {"InstanceGroups": [group("a", SlurmConfig={**COMPUTE, "PartitionNames": ["a", "b"]})]},
            "partitionNames' .* length less than or equal to 1",
        ),
    ],
)
def test_checks_the_constraints_of_the_api_model(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ServiceError, match=message) as refused:
        check_request({**request(), **changed}, instance_types())
    assert refused.value.code == "ValidationException"


class TestUpdate:
    CURRENT = placed(
        group("zone-b", SlurmConfig=COMPUTE, OverrideVpcConfig=VPC, ThreadsPerCore=1),
        NodeRecovery="Automatic",
    )

    def updated(self, *groups: dict[str, Any], **more: object) -> dict[str, Any]:
        update: dict[str, Any] = {"ClusterName": "c1", **more}
        if groups:
            update["InstanceGroups"] = list(groups)
        return updated_request(self.CURRENT, update, instance_types())

    def test_changes_the_groups_that_it_names_and_adds_new_ones(self) -> None:
        result = self.updated(
            group("workers", 5, SlurmConfig=COMPUTE), group("more", SlurmConfig=COMPUTE)
        )
        counts = {
            item["InstanceGroupName"]: item["InstanceCount"] for item in result["InstanceGroups"]
        }
        assert counts == {"head": 1, "workers": 5, "zone-b": 1, "more": 1}

    def test_a_group_keeps_what_the_request_does_not_mention(self) -> None:
        zone_b = self.updated(group("zone-b", 2))["InstanceGroups"][2]
        assert zone_b["SlurmConfig"] == COMPUTE
        assert zone_b["OverrideVpcConfig"] == VPC
        assert zone_b["ThreadsPerCore"] == 1
        assert zone_b["InstanceCount"] == 2

    def test_scripts_may_change_or_go(self) -> None:
        assert (
            "LifeCycleConfig"
            not in self.updated(group("zone-b", LifeCycleConfig=None))["InstanceGroups"][2]
        )

    def test_deletes_groups(self) -> None:
        result = self.updated(InstanceGroupsToDelete=["zone-b"])
        names = [item["InstanceGroupName"] for item in result["InstanceGroups"]]
        assert names == ["head", "workers"]

    def test_changes_settings_of_the_cluster(self) -> None:
        slurm = {"Slurm": {"SlurmConfigStrategy": "Overwrite"}}
        result = self.updated(NodeRecovery="None", Orchestrator=slurm)
        assert (result["NodeRecovery"], result["Orchestrator"]) == ("None", slurm)

    def test_takes_up_continuous_provisioning_and_forgets_the_strategy(self) -> None:
        merges = {"Slurm": {"SlurmConfigStrategy": "Merge"}}
        current = {**self.CURRENT, "Orchestrator": merges}
        update = {"ClusterName": "c1", "NodeProvisioningMode": "Continuous"}
        updated = updated_request(current, update, instance_types())
        assert updated["NodeProvisioningMode"] == "Continuous"
        assert updated["Orchestrator"] == {"Slurm": {}}
        assert "Orchestrator" not in updated_request(self.CURRENT, update, instance_types())

    def test_takes_up_a_database_outside_and_never_gives_it_back(self) -> None:
        slurm = {"Slurm": {"AccountingDatabase": DATABASE}}
        standing = {**self.CURRENT, "NodeProvisioningMode": "Continuous"}
        update = {"ClusterName": "c1", "Orchestrator": slurm}
        moved = updated_request(standing, update, instance_types())
        assert moved["Orchestrator"] == slurm
        other = {"Slurm": {"AccountingDatabase": {**DATABASE, "Endpoint": "other.example.com"}}}
        for orchestrator, message in (({"Slurm": {}}, "cannot go back"), (other, "another one")):
            with pytest.raises(ServiceError, match=message):
                updated_request(moved, {**update, "Orchestrator": orchestrator}, instance_types())

    def test_takes_up_continuous_provisioning_only_with_slurm_configured_by_api(self) -> None:
        groups = [{**each} for each in self.CURRENT["InstanceGroups"]]
        for each in groups:
            each.pop("SlurmConfig", None)
        update = {"ClusterName": "c1", "NodeProvisioningMode": "Continuous"}
        with pytest.raises(ServiceError, match="needs SlurmConfig in each instance group"):
            updated_request({**self.CURRENT, "InstanceGroups": groups}, update, instance_types())

    @pytest.mark.parametrize(
        ("update", "message"),
        [
            (
                {"InstanceGroups": [group("workers", InstanceType="ml.m5.large")]},
                "workers cannot be changed from ml.c5.large to ml.m5.large; add another instance",
            ),
            (
                {"InstanceGroups": [group("workers", ExecutionRole=f"{ROLE}-2")]},
                "ExecutionRole of instance group workers cannot be changed",
            ),
            (
                {"InstanceGroups": [group("workers", ThreadsPerCore=1)]},
                "ThreadsPerCore of instance group workers cannot be changed from none to 1",
            ),
            (
                {"InstanceGroups": [group("workers", OverrideVpcConfig=VPC)]},
                "OverrideVpcConfig of instance group workers cannot be changed",
            ),
            (
                {"InstanceGroups": [group("workers", SlurmConfig={"NodeType": "Login"})]},
                "NodeType of instance group workers is immutable: it is Compute, not Login",
            ),
            ({"InstanceGroupsToDelete": ["nope"]}, "nope of InstanceGroupsToDelete does not exist"),
            ({"InstanceGroupsToDelete": ["head"]}, "is the Slurm controller's and cannot be"),
            (
                {"InstanceGroups": [group("workers")], "InstanceGroupsToDelete": ["workers"]},
                "both in InstanceGroups and InstanceGroupsToDelete",
            ),
            (
                {"Orchestrator": {"Slurm": {"AccountingDatabase": DATABASE}}},
                "AccountingDatabase needs NodeProvisioningMode Continuous",
            ),
            ({"ClusterRole": ROLE}, "ClusterRole is not supported by the embedded AWS"),
            (
                {"InstanceGroups": [group("head", 3)]},
                "Controller group head must have InstanceCount 1",
            ),
            ({"InstanceGroups": [group("workers", -1)]}, "greater than or equal to 0"),
        ],
    )
    def test_refuses_what_cannot_change(self, update: dict[str, Any], message: str) -> None:
        with pytest.raises(ServiceError, match=message) as refused:
            updated_request(self.CURRENT, {"ClusterName": "c1", **update}, instance_types())
        assert refused.value.code == "ValidationException"
