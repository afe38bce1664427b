from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.catalog import instance_types
from tests.stacks.synthesis import example_text, only, resolved_from, synthesize

if TYPE_CHECKING:
    from tests.stacks.synthesis import Synthesized

CLUSTER = "AWS::SageMaker::Cluster"
TEMPLATE_BODY_LIMIT = 1_000_000
"""Bytes of a template in S3 (AWS CloudFormation quotas)."""


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
        "OnCreate": example.resolved.lifecycle.entry_script,
    }
    assert all(group["LifeCycleConfig"] == lifecycle for group in groups)
    assert len({str(group["ExecutionRole"]) for group in groups}) == 1


def test_volumes_are_attached_where_asked_for(p5_prod: Synthesized) -> None:
    groups = only(p5_prod.templates["cluster"], CLUSTER)["InstanceGroups"]
    volumes = {group["InstanceGroupName"]: group.get("InstanceStorageConfigs") for group in groups}
    assert volumes == {
        "controller": None,
        "login": None,
        "p5": [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}],
    }


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
        "ClusterName",
        "FileSystemDnsName",
        "FileSystemId",
        "FileSystemMountName",
        "LifecycleBucket",
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


def test_the_largest_cluster_of_all_types_fits_into_a_template() -> None:
    """Also: the CDK's list of instance types, which lags behind the catalog, stops nothing."""
    head, _ = example_text("dev").split("    - name: workers")
    workers = "".join(
        f"    - {{name: workers-{number}, role: worker, instance_type: {name}, count: 2, "
        f"partition: p{number}, volume_gib: 500}}\n"
        for number, name in enumerate(sorted(instance_types())[-98:])
    )
    example = synthesize(resolved_from(head + workers))
    template = example.stacks["cluster"].template_full_path
    with open(template, encoding="utf-8") as file:  # noqa: PTH123
        size_bytes = len(file.read().encode())
    assert len(only(example.templates["cluster"], CLUSTER)["InstanceGroups"]) == 100
    assert size_bytes < TEMPLATE_BODY_LIMIT
