from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint_by_config  # type: ignore[import-untyped]
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from slurmpod.environment.catalog import instance_types
from slurmpod.environment.facts import fact
from slurmpod.request import cluster_request
from slurmpod.rules.limits import TEMPLATE_BODY_LIMIT, template_characters
from slurmpod.rules.request import neutral_references
from slurmpod_cdk.nag.review import review
from tests.cluster_environments import EXTENDED, MANAGED, MULTI_HEAD
from tests.templates.linting import IGNORED
from tests.templates.synthesis import Synthesized, only, resolved_from, synthesize

CLUSTER = "AWS::SageMaker::Cluster"

NOT_FOR_SLURM_GROUPS = {"CurrentCount", "ImageReleaseVersion", "KubernetesConfig"}
"""The first is read-only, the others are for clusters with EKS (resource schema, descriptions)."""

NOT_FOR_SLURM_CLUSTERS = {
    "AutoScaling",
    "ClusterRole",
    "RestrictedInstanceGroups",
    "RestrictedInstanceGroupsConfig",
    "TieredStorageConfig",
}
"""For clusters with EKS: Karpenter and its role, groups for Amazon Nova, and checkpoints in memory
(SageMaker AI developer guide, "Autoscaling on SageMaker HyperPod EKS", "Set up managed tiered
checkpointing"; Amazon Nova user guide, "Creating a SageMaker HyperPod EKS cluster with restricted
instance group"). So is `Eks`, the other orchestrator."""

REFERENCES = {
    "DnsName",
    "ExecutionRole",
    "MountName",
    "SecurityGroupIds",
    "SourceS3Uri",
    "Subnets",
}

NOTHING_NEW = """\
name: dev
account: "123456789012"
region: us-west-2
network:
  zone: us-west-2b
  existing:
    vpc_id: vpc-0a1b2c3d4e5f60718
    subnets: [{id: subnet-0a1b2c3d4e5f60718, zone: us-west-2b}]
    security_group_ids: [sg-0a1b2c3d, sg-1a1b2c3d]
storage: {lustre: null}
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.m5.xlarge, count: 2, partition: cpu}
"""


@pytest.fixture(scope="module")
def full() -> Synthesized:
    return synthesize(resolved_from(EXTENDED))


@pytest.fixture(scope="module")
def managed() -> Synthesized:
    return synthesize(resolved_from(MANAGED))


def test_every_group_is_mapped(example: Synthesized) -> None:
    groups = only(example.templates["cluster"], CLUSTER)["InstanceGroups"]
    assert [
        (
            group["InstanceGroupName"],
            group["InstanceType"],
            group["InstanceCount"],
            group["ThreadsPerCore"],
        )
        for group in groups
    ] == [
        (group.name, group.instance_type, group.count, group.threads_per_core)
        for group in example.resolved.groups
    ]


def test_every_group_runs_the_bundle_with_the_execution_role(example: Synthesized) -> None:
    groups = only(example.templates["cluster"], CLUSTER)["InstanceGroups"]
    lifecycle = {
        "SourceS3Uri": f"s3://{example.resolved.lifecycle.bucket}/{example.bundle.prefix}",
        "OnInitComplete": example.resolved.lifecycle.entry_script,
    }
    assert all(group["LifeCycleConfig"] == lifecycle for group in groups)
    assert len({str(group["ExecutionRole"]) for group in groups}) == 1


def test_volumes_are_attached_where_asked_for(p5_prod: Synthesized) -> None:
    groups = only(p5_prod.templates["cluster"], CLUSTER)["InstanceGroups"]
    volumes = {
        group["InstanceGroupName"]: [
            each["EbsVolumeConfig"]
            for each in group["InstanceStorageConfigs"]
            if "EbsVolumeConfig" in each
        ]
        for group in groups
    }
    assert volumes == {"controller": [], "login": [], "p5": [{"VolumeSizeInGB": 500}]}


def test_the_cluster_has_its_name_and_node_recovery(example: Synthesized) -> None:
    cluster = only(example.templates["cluster"], CLUSTER)
    assert cluster["ClusterName"] == example.resolved.name
    assert cluster["NodeRecovery"] == example.resolved.node_recovery


def test_users_find_what_they_need_in_the_outputs(example: Synthesized) -> None:
    described = {
        name: output["Description"]
        for template in example.templates.values()
        for name, output in template.get("Outputs", {}).items()
        if "Description" in output
    }
    assert set(described) == {
        "BundleUri",
        "ClusterArn",
        "ClusterId",
        "ClusterName",
        "FileSystemDnsName",
        "FileSystemId",
        "FileSystemMountName",
        "LifecycleBucket",
        "LogGroup",
        "SessionTarget",
    }
    assert all(described.values())


def test_sessions_are_opened_by_the_id_in_the_arn(dev: Synthesized) -> None:
    prefix, cluster_id, pattern = dev.templates["cluster"]["Outputs"]["SessionTarget"]["Value"][
        "Fn::Join"
    ][1]
    index, parts = cluster_id["Fn::Select"]
    separator, arn = parts["Fn::Split"]
    arn_here = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
    assert arn["Fn::GetAtt"][1] == "ClusterArn"
    assert f"{prefix}{arn_here.split(separator)[index]}{pattern}" == (
        "sagemaker-cluster:abcdefghijkl_<group>-<instance-id>"
    )


def test_the_request_is_deployed_as_the_rules_have_checked_it(full: Synthesized) -> None:
    deployed = only(full.templates["cluster"], CLUSTER)
    checked = cluster_request(full.resolved, neutral_references(full.resolved))
    assert without_references(deployed) == without_references(checked)


def test_every_property_that_slurm_groups_have_is_used(
    full: Synthesized, managed: Synthesized
) -> None:
    groups = only(full.templates["cluster"], CLUSTER)["InstanceGroups"]
    used = {member for group in groups for member in group}
    assert used | NOT_FOR_SLURM_GROUPS == definition("ClusterInstanceGroup")["properties"].keys()
    slurm = definition("ClusterOrchestratorSlurmConfig")["properties"].keys()
    used_of_slurm = {
        member
        for example in (full, managed)
        for member in only(example.templates["cluster"], CLUSTER)["Orchestrator"]["Slurm"]
    }
    assert used_of_slurm == slurm


def test_every_property_that_slurm_clusters_have_is_used(full: Synthesized) -> None:
    cluster = only(full.templates["cluster"], CLUSTER)
    read_only = {path.removeprefix("/properties/") for path in schema()["readOnlyProperties"]}
    settable = schema()["properties"].keys() - read_only
    assert cluster.keys() | NOT_FOR_SLURM_CLUSTERS == settable
    assert not cluster.keys() & NOT_FOR_SLURM_CLUSTERS
    either = [kind["properties"].keys() for kind in definition("Orchestrator")["oneOf"]]
    assert either == [{"Eks"}, cluster["Orchestrator"].keys()]


def test_every_property_of_patches_is_used_but_for_the_date_that_hyperpod_sets(
    full: Synthesized,
) -> None:
    """CloudFormation calls the date read-only, though UpdateCluster takes one to reschedule."""
    groups = only(full.templates["cluster"], CLUSTER)["InstanceGroups"]
    used = {member for group in groups for member in group.get("AutoPatchConfig", {})}
    assert used | {"PatchSchedule"} == definition("AutoPatchConfig")["properties"].keys()
    assert definition("PatchSchedule")["properties"].keys() == {"NextPatchDate"}
    patches = "/properties/InstanceGroups/*/AutoPatchConfig"
    assert f"{patches}/PatchSchedule/NextPatchDate" in schema()["readOnlyProperties"]


@pytest.mark.parametrize(
    ("definition_name", "name"),
    [
        ("DeepHealthCheckType", "cluster.groups.deep_health_checks"),
        ("AutoPatchConfig", "cluster.groups.auto_patch.strategy"),
    ],
)
def test_what_is_known_is_what_the_resource_takes(definition_name: str, name: str) -> None:
    """CreateCluster knows more, which CloudFormation refuses: a new pin may bring it."""
    defined = definition(definition_name)
    taken = defined.get("enum") or defined["properties"]["PatchingStrategy"]["enum"]
    assert set(fact(name).values) == set(taken)


def test_what_is_empty_on_purpose_stays(full: Synthesized) -> None:
    controller, *_, flexible = only(full.templates["cluster"], CLUSTER)["InstanceGroups"]
    assert controller["CapacityRequirements"] == {"OnDemand": {}}
    assert flexible["CapacityRequirements"] == {"Spot": {}}


def test_groups_in_another_zone_are_in_its_subnet(full: Synthesized) -> None:
    cluster = only(full.templates["cluster"], CLUSTER)
    (override,) = (
        group["OverrideVpcConfig"]
        for group in cluster["InstanceGroups"]
        if "OverrideVpcConfig" in group
    )
    assert override["SecurityGroupIds"] == cluster["VpcConfig"]["SecurityGroupIds"]
    assert override["Subnets"] != cluster["VpcConfig"]["Subnets"]


def test_in_managed_mode_there_is_no_stack_for_scripts(managed: Synthesized) -> None:
    assert list(managed.templates) == ["network", "storage", "identity", "cluster"]


def test_an_existing_network_and_no_file_systems_leave_three_stacks() -> None:
    example = synthesize(resolved_from(NOTHING_NEW))
    cluster = only(example.templates["cluster"], CLUSTER)
    assert list(example.templates) == ["lifecycle", "identity", "cluster"]
    assert cluster["VpcConfig"] == {
        "SecurityGroupIds": ["sg-0a1b2c3d", "sg-1a1b2c3d"],
        "Subnets": ["subnet-0a1b2c3d4e5f60718"],
    }


@pytest.mark.parametrize("text", [EXTENDED, MANAGED, MULTI_HEAD])
def test_cfn_lint_and_nag_find_nothing_in_any_mode(text: str) -> None:
    example = synthesize(resolved_from(text))
    config = ManualArgs(
        templates=[stack.template_full_path for stack in example.stacks.values()],
        regions=[example.resolved.region],
        ignore_checks=list(IGNORED),
    )
    assert [str(match) for match in lint_by_config(config)] == []
    assert review(example.app) == ()


def test_the_largest_cluster_of_all_types_fits_into_a_template() -> None:
    """Also: the CDK's list of instance types, which lags behind the catalog, stops nothing."""
    head, groups = EXTENDED.split("    - name: p5\n")
    _, tail = groups.split("slurm:\n")
    alarms = ", ".join(f"{number}{'a' * 99}" for number in range(10))
    rollout = f"{{batch_count: 2, wait_seconds: 600, rollback_alarms: [{alarms}]}}"
    workers = "".join(
        f"    - {{name: workers-{number}, role: worker, instance_type: {name}, count: 2, "
        f"partition: p{number}, volume_gib: 500, zone: usw2-az1, "
        f"scheduled_update: {{schedule: cron(0 3 ? * SUN *), rollout: {rollout}}}, "
        f"auto_patch: {{strategy: WhenIdle, rollout: {rollout}}}}}\n"
        for number, name in enumerate(sorted(instance_types())[-98:])
    )
    example = synthesize(resolved_from(f"{head}{workers}slurm:\n{tail}"))
    template = Path(example.stacks["cluster"].template_full_path).read_bytes()
    assert len(only(example.templates["cluster"], CLUSTER)["InstanceGroups"]) == 100
    estimated = template_characters(example.resolved)
    assert len(template) <= estimated < TEMPLATE_BODY_LIMIT


def schema() -> dict[str, Any]:
    """Return the resource's own schema."""
    found: dict[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", CLUSTER).schema
    return found


def definition(name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema()["definitions"][name]
    return found


def without_references(value: Any, key: str = "") -> Any:
    """Return a request without what only a deployment knows."""
    if key in REFERENCES:
        return None
    if isinstance(value, dict):
        return {name: without_references(item, name) for name, item in value.items()}
    return [without_references(item) for item in value] if isinstance(value, list) else value
