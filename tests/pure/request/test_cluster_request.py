"""The CreateCluster request of environments in all three lifecycle modes."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.sagemaker.rules import refusals
from embedded_aws.service_model import violations
from slurmpod.environment.catalog import instance_types
from slurmpod.reading.read import Reading, read_as
from slurmpod.request import cluster_request
from slurmpod.resolve import Resolved, resolve
from slurmpod.rules.request import CREATE_CLUSTER_INPUT, create_cluster_shapes, neutral_references
from tests.cluster_environments import EXTENDED, MANAGED, MULTI_HEAD
from tests.sound_environment import SOUND, sound_with


def resolved_from(text: str) -> Resolved:
    environment = read_as("environment.yaml", text).environment
    assert environment is not None
    return resolve(Reading(environment))


def request_of(text: str) -> dict[str, Any]:
    resolved = resolved_from(text)
    return cluster_request(resolved, neutral_references(resolved))


def group_of(text: str, name: str) -> dict[str, Any]:
    groups: list[dict[str, Any]] = request_of(text)["InstanceGroups"]
    return next(group for group in groups if group["InstanceGroupName"] == name)


@pytest.mark.parametrize("text", [SOUND, EXTENDED, MANAGED, MULTI_HEAD])
def test_the_model_of_the_api_has_nothing_to_object_to(text: str) -> None:
    shapes = create_cluster_shapes()
    assert list(violations(shapes, CREATE_CLUSTER_INPUT, request_of(text))) == []


@pytest.mark.parametrize("text", [SOUND, EXTENDED, MANAGED, MULTI_HEAD])
def test_the_embedded_aws_refuses_nothing_that_the_rules_pass(text: str) -> None:
    assert refusals(request_of(text), instance_types()) == []


def test_the_small_request_says_what_is_needed_and_no_more() -> None:
    role = "arn:aws:iam::123456789012:role/example"
    lifecycle = {
        "SourceS3Uri": "s3://sagemaker-dev-123456789012-us-west-2/lifecycle/0123456789ab",
        "OnCreate": "on_create.sh",
    }
    assert request_of(SOUND) == {
        "ClusterName": "dev",
        "NodeRecovery": "Automatic",
        "InstanceGroups": [
            {
                "InstanceGroupName": "controller",
                "InstanceType": "ml.m5.large",
                "InstanceCount": 1,
                "ThreadsPerCore": 2,
                "ExecutionRole": role,
                "LifeCycleConfig": lifecycle,
            },
            {
                "InstanceGroupName": "workers",
                "InstanceType": "ml.m5.xlarge",
                "InstanceCount": 2,
                "ThreadsPerCore": 2,
                "ExecutionRole": role,
                "LifeCycleConfig": lifecycle,
            },
        ],
        "VpcConfig": {
            "SecurityGroupIds": ["sg-0123456789abcdef0"],
            "Subnets": ["subnet-0123456789abcdef0"],
        },
        "Tags": [
            {"Key": "slurmpod:environment", "Value": "dev"},
            {"Key": "team", "Value": "ml"},
        ],
    }


def test_in_customer_mode_the_request_leaves_slurm_to_the_scripts() -> None:
    request = request_of(MULTI_HEAD)
    assert "Orchestrator" not in request
    for group in request["InstanceGroups"]:
        assert "SlurmConfig" not in group
        assert "InstanceStorageConfigs" not in group
        assert set(group["LifeCycleConfig"]) == {"SourceS3Uri", "OnCreate"}


def test_in_extended_mode_scripts_run_after_hyperpod() -> None:
    group = group_of(EXTENDED, "login")
    assert group["LifeCycleConfig"]["OnInitComplete"] == "on_init_complete.sh"
    assert "OnCreate" not in group["LifeCycleConfig"]


def test_in_managed_mode_there_are_no_scripts() -> None:
    request = request_of(MANAGED)
    assert all("LifeCycleConfig" not in group for group in request["InstanceGroups"])
    assert request["Orchestrator"] == {"Slurm": {"SlurmConfigStrategy": "Merge"}}


def test_without_settings_of_slurm_there_is_no_empty_orchestrator() -> None:
    text = MANAGED.replace("slurm: {config_strategy: Merge}\n", "")
    assert "Orchestrator" not in request_of(text)


def test_hyperpod_is_told_the_place_of_each_group_in_slurm() -> None:
    configs = [group["SlurmConfig"] for group in request_of(EXTENDED)["InstanceGroups"]]
    assert configs == [
        {"NodeType": "Controller"},
        {"NodeType": "Login"},
        {"NodeType": "Compute", "PartitionNames": ["p5"]},
        {"NodeType": "Compute", "PartitionNames": ["g5"]},
    ]


def test_the_cluster_is_continuous_with_its_database() -> None:
    request = request_of(EXTENDED)
    assert request["NodeProvisioningMode"] == "Continuous"
    assert request["Orchestrator"]["Slurm"]["AccountingDatabase"] == {
        "Endpoint": "slurm.abcdefghijkl.us-west-2.rds.amazonaws.com",
        "Port": 3307,
        "Name": "slurm_acct_db",
        "SecretArn": "arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf",
    }


def test_hyperpod_mounts_the_file_systems_of_every_group() -> None:
    for group in request_of(EXTENDED)["InstanceGroups"]:
        by_kind = {
            kind: config
            for each in group["InstanceStorageConfigs"]
            for kind, config in each.items()
        }
        assert by_kind["FsxLustreConfig"]["MountPath"] == "/fsx"
        assert by_kind["FsxLustreConfig"]["MountName"]
        assert by_kind["FsxOpenZfsConfig"]["MountPath"] == "/home"


def test_volumes_have_their_sizes_and_keys() -> None:
    def volumes(name: str) -> list[dict[str, Any]]:
        configs = group_of(EXTENDED, name)["InstanceStorageConfigs"]
        return [each["EbsVolumeConfig"] for each in configs if "EbsVolumeConfig" in each]

    key = "arn:aws:kms:us-west-2:123456789012:key/{}-1234-1234-1234-123456789012"
    assert volumes("controller") == [{"RootVolume": True, "VolumeKmsKeyId": key.format("1" * 8)}]
    assert volumes("p5") == [{"VolumeSizeInGB": 500, "VolumeKmsKeyId": key.format("2" * 8)}]
    assert volumes("login") == []


def test_only_groups_elsewhere_override_the_network() -> None:
    groups = request_of(EXTENDED)["InstanceGroups"]
    elsewhere = [group["InstanceGroupName"] for group in groups if "OverrideVpcConfig" in group]
    assert elsewhere == ["flexible"]


def test_groups_of_one_known_type_say_their_threads_others_only_what_was_chosen() -> None:
    assert group_of(EXTENDED, "controller")["ThreadsPerCore"] == 2
    assert group_of(EXTENDED, "p5")["ThreadsPerCore"] == 1
    assert "ThreadsPerCore" not in group_of(EXTENDED, "flexible")
    newer = sound_with("ml.m5.xlarge", "ml.m9.xlarge")
    assert "ThreadsPerCore" not in group_of(newer, "workers")
    chosen = newer.replace("count: 2", "count: 2\n      threads_per_core: 1")
    assert group_of(chosen, "workers")["ThreadsPerCore"] == 1


def test_types_counts_and_capacity_are_passed_on() -> None:
    p5, flexible = group_of(EXTENDED, "p5"), group_of(EXTENDED, "flexible")
    assert (p5["InstanceType"], p5["InstanceCount"], p5["MinInstanceCount"]) == (
        "ml.p5.48xlarge",
        8,
        4,
    )
    assert p5["TrainingPlanArn"].endswith("training-plan/p5-june")
    assert p5["NetworkInterface"] == {"InterfaceType": "efa-only"}
    assert p5["OnStartDeepHealthChecks"] == ["InstanceStress", "InstanceConnectivity"]
    assert "InstanceType" not in flexible
    assert flexible["InstanceRequirements"] == {
        "InstanceTypes": ["ml.g5.12xlarge", "ml.g5.24xlarge"]
    }
    assert flexible["CapacityRequirements"] == {"Spot": {}}
    assert group_of(EXTENDED, "controller")["CapacityRequirements"] == {"OnDemand": {}}
    assert group_of(EXTENDED, "login")["ImageId"] == "ami-0123456789abcdef0"


def test_a_minimum_of_no_node_is_said() -> None:
    text = EXTENDED.replace("min_count: 4", "min_count: 0")
    assert group_of(text, "p5")["MinInstanceCount"] == 0


def test_updates_have_schedule_batches_and_alarms() -> None:
    assert group_of(EXTENDED, "p5")["ScheduledUpdateConfig"] == {
        "ScheduleExpression": "cron(0 3 ? * SUN *)",
        "DeploymentConfig": {
            "RollingUpdatePolicy": {
                "MaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": 2},
                "RollbackMaximumBatchSize": {"Type": "CAPACITY_PERCENTAGE", "Value": 50},
            },
            "WaitIntervalInSeconds": 600,
            "AutoRollbackConfiguration": [{"AlarmName": "idle-gpus"}, {"AlarmName": "hot-gpus"}],
        },
    }
    assert group_of(EXTENDED, "flexible")["AutoPatchConfig"] == {
        "PatchingStrategy": "WhenIdle",
        "DeploymentConfig": {
            "RollingUpdatePolicy": {
                "MaximumBatchSize": {"Type": "CAPACITY_PERCENTAGE", "Value": 25}
            }
        },
    }


def test_updates_without_a_rollout_say_when_and_how_only() -> None:
    text = sound_with("count: 2", "count: 2\n      auto_patch: {strategy: WhenAllIdle}")
    assert group_of(text, "workers")["AutoPatchConfig"] == {"PatchingStrategy": "WhenAllIdle"}


def test_a_zone_without_a_subnet_is_no_half_request() -> None:
    text = sound_with("count: 2", "count: 2\n      zone: us-west-2c")
    resolved = resolved_from(text)
    references = neutral_references(resolved_from(SOUND))
    with pytest.raises(KeyError, match="us-west-2c"):
        cluster_request(resolved, references)


def test_tags_are_in_one_order_however_they_are_written() -> None:
    text = sound_with("  team: ml\n", "  team: ml\n  area: tools\n")
    assert [tag["Key"] for tag in request_of(text)["Tags"]] == [
        "area",
        "slurmpod:environment",
        "team",
    ]
