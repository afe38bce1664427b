"""HyperPod's API as the embedded AWS answers it, held against botocore's own model of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import botocore.session
import pytest
from botocore.model import ListShape, Shape, StringShape, StructureShape

from slurmpod.rehearsal.cloud.constraints import summary, violations
from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode, NetworkInterface, VpcConfig
from slurmpod.rehearsal.cloud.sagemaker import describe
from slurmpod.rehearsal.cloud.sagemaker.listing import Entry, list_page
from slurmpod.rehearsal.cloud.sagemaker.requests import check_request, read_groups
from slurmpod.rehearsal.cloud.sagemaker.rules import refusals

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ROLE = "arn:aws:iam::111122223333:role/node"
LIFECYCLE = {"SourceS3Uri": "s3://sagemaker-scripts/v1", "OnCreate": "on_create.sh"}


def group(name: str, count: int = 1, **more: object) -> dict[str, Any]:
    return {
        "InstanceGroupName": name,
        "InstanceType": "ml.c5.large",
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": dict(LIFECYCLE),
        **more,
    }


def request(*groups: dict[str, Any], **more: object) -> dict[str, Any]:
    return {
        "ClusterName": "c1",
        "InstanceGroups": list(groups) or [group("controller"), group("workers", 2)],
        "VpcConfig": {"SecurityGroupIds": ["sg-12345678"], "Subnets": ["subnet-12345678"]},
        **more,
    }


SLURM = {"NodeType": "Controller"}
COMPUTE = {"NodeType": "Compute", "PartitionNames": ["dev"]}


def test_accepts_what_the_project_asks_for() -> None:
    check_request(request())
    check_request(
        request(
            group("head", SlurmConfig=SLURM),
            group("workers", 4, SlurmConfig=COMPUTE, ThreadsPerCore=2, MinInstanceCount=1),
            NodeRecovery="Automatic",
            Orchestrator={"Slurm": {"SlurmConfigStrategy": "Managed"}},
        )
    )


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (request(group("a"), group("a")), "InstanceGroupName a is used 2 times"),
        (
            request(group("a", LifeCycleConfig={**LIFECYCLE, "SourceS3Uri": "s3://other/v1"})),
            "must start with s3://sagemaker-, not s3://other/v1",
        ),
        (request(group("a", LifeCycleConfig={})), "contains no configuration"),
        (request(group("a", LifeCycleConfig={"OnCreate": "x.sh"})), "is incomplete"),
        (
            request(group("a", LifeCycleConfig={**LIFECYCLE, "OnInitComplete": "x.sh"})),
            "mutually exclusive",
        ),
        (request(group("a", MinInstanceCount=2)), "MinInstanceCount exceeds"),
        (
            request(group("a", InstanceRequirements={"InstanceTypes": ["ml.c5.large"]})),
            "either InstanceType or InstanceRequirements",
        ),
        (
            request(group("a", InstanceStorageConfigs=[{"EbsVolumeConfig": {"RootVolume": True}}])),
            "needs VolumeKmsKeyId",
        ),
        (request(group("a", SlurmConfig=COMPUTE)), "exactly one InstanceGroup with Controller"),
        (
            request(group("a", SlurmConfig=SLURM), group("b", SlurmConfig=SLURM)),
            "2 Controller Groups found",
        ),
        (
            request(group("a", SlurmConfig={**SLURM, "PartitionNames": ["dev"]})),
            "only be assigned to Compute",
        ),
        (
            request(
                NodeProvisioningMode="Continuous",
                Orchestrator={"Slurm": {"SlurmConfigStrategy": "Merge"}},
            ),
            "not allowed with NodeProvisioningMode Continuous",
        ),
        (request(Orchestrator={"Eks": {"ClusterArn": "x"}}), "Slurm clusters only"),
        ({**request(), "VpcConfig": {}}, "VpcConfig is required"),
        (request(AutoScaling={"Mode": "Enable"}), "AutoScaling is not supported by the embedded"),
    ],
)
def test_refuses_what_the_service_refuses(asked: dict[str, Any], reason: str) -> None:
    assert [text for text in refusals(asked) if reason in text]


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
    ],
)
def test_checks_the_constraints_of_the_api_model(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ServiceError, match=message) as refused:
        check_request({**request(), **changed})
    assert refused.value.code == "ValidationException"


def test_counts_violations_as_aws_does() -> None:
    problems = violations("sagemaker", "ListClusters", {"MaxResults": 0, "SortBy": "AGE"})

    assert summary(problems).startswith("2 validation errors detected: ")


class NoNetwork:
    def create_interface(self, group: object) -> NetworkInterface:
        raise NotImplementedError

    def delete_interface(self, interface_id: str) -> None:
        raise NotImplementedError


def cluster_of(asked: dict[str, Any]) -> Cluster:
    interface = NetworkInterface(
        "eni-1", "10.1.0.4", "ip-10-1-0-4.us-west-2.compute.internal", "subnet-12345678",
        "10.1.0.0/24", "us-west-2a", "usw2-az2",
    )  # fmt: skip
    node = ClusterNode(
        "i-0123456789abcdef0", "workers", "ml.c5.large", interface.private_ip,
        interface.private_dns_hostname, NOW, status="Running", interface=interface,
    )  # fmt: skip
    pending = replace(node, status="Pending", message="booting", interface=None)
    return Cluster(
        name="c1",
        arn="arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl",
        id="abcdefghijkl",
        groups=read_groups(asked),
        vpc_config=VpcConfig(("sg-12345678",), ("subnet-12345678",)),
        network=NoNetwork(),
        created_at=NOW,
        request=asked,
        nodes=[node, pending],
        status="InService",
    )


EVERYTHING = request(
    group("controller", SlurmConfig=SLURM),
    group(
        "workers",
        2,
        ThreadsPerCore=1,
        MinInstanceCount=1,
        SlurmConfig=COMPUTE,
        InstanceStorageConfigs=[{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}],
        OnStartDeepHealthChecks=["InstanceStress"],
        OverrideVpcConfig={"SecurityGroupIds": ["sg-87654321"], "Subnets": ["subnet-87654321"]},
        NetworkInterface={"InterfaceType": "efa"},
    ),
    NodeRecovery="Automatic",
    Orchestrator={"Slurm": {"SlurmConfigStrategy": "Managed"}},
)


def answers(cluster: Cluster) -> dict[str, dict[str, Any]]:
    nodes = [describe.node_summary_shape(node) for node in cluster.nodes]
    return {
        "DescribeCluster": describe.cluster_shape(cluster),
        "DescribeClusterNode": {"NodeDetails": describe.node_shape(cluster, cluster.nodes[0])},
        "ListClusterNodes": {"ClusterNodeSummaries": nodes},
        "ListClusters": {"ClusterSummaries": [describe.cluster_summary_shape(cluster)]},
    }


@pytest.mark.parametrize("operation", answers(cluster_of(EVERYTHING)))
def test_answers_have_the_members_that_the_api_model_has(operation: str) -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.operation_model(operation).output_shape
    assert shape is not None

    answer = answers(cluster_of(EVERYTHING))[operation]
    assert list(unfitting(shape, answer, operation)) == []


def unfitting(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """Yield what a value has that its shape does not allow, and what it lacks."""
    if isinstance(shape, StructureShape):
        given = {name: item for name, item in value.items() if item is not None}
        yield from (f"{path}.{name} is unknown" for name in given.keys() - shape.members.keys())
        yield from (
            f"{path}.{name} is missing" for name in set(shape.required_members) - given.keys()
        )
        for name in given.keys() & shape.members.keys():
            yield from unfitting(shape.members[name], given[name], f"{path}.{name}")
    elif isinstance(shape, ListShape):
        for item in value:
            yield from unfitting(shape.member, item, path)
    elif isinstance(shape, StringShape) and shape.enum and value not in shape.enum:
        yield f"{path} is {value}"


def test_describes_groups_by_what_runs_of_what_was_asked_for() -> None:
    workers = describe.cluster_shape(cluster_of(EVERYTHING))["InstanceGroups"][1]

    assert (workers["CurrentCount"], workers["TargetCount"], workers["MinCount"]) == (1, 2, 1)
    assert workers["SlurmConfig"] == COMPUTE
    assert workers["OverrideVpcConfig"]["Subnets"] == ["subnet-87654321"]


def test_describes_where_a_node_is() -> None:
    cluster = cluster_of(EVERYTHING)
    node = describe.node_shape(cluster, cluster.nodes[0])

    assert node["PrivatePrimaryIp"] == "10.1.0.4"
    assert node["Placement"]["AvailabilityZoneId"] == "usw2-az2"
    assert node["LifeCycleConfig"] == LIFECYCLE


def test_a_group_that_overrides_the_network_has_its_own() -> None:
    controller, workers = read_groups(EVERYTHING)

    assert controller.vpc_config.subnet_ids == ("subnet-12345678",)
    assert workers.vpc_config.subnet_ids == ("subnet-87654321",)


ENTRIES = [
    Entry(name, NOW + timedelta(minutes=minute), {"Name": name})
    for minute, name in enumerate(["b", "c", "a"])
]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, "bca"),
        ({"SortOrder": "Descending"}, "acb"),
        ({"SortBy": "NAME"}, "abc"),
        ({"SortBy": "NAME", "SortOrder": "Descending"}, "cba"),
        ({"CreationTimeAfter": NOW.replace(tzinfo=None)}, "ca"),
        ({"CreationTimeBefore": (NOW + timedelta(minutes=1)).replace(tzinfo=None)}, "b"),
    ],
)
def test_lists_are_filtered_and_sorted(given: dict[str, Any], names: str) -> None:
    page, token = list_page(ENTRIES, given)

    assert "".join(shape["Name"] for shape in page) == names
    assert token is None


def test_lists_are_paged() -> None:
    first, token = list_page(ENTRIES, {"MaxResults": 2})
    rest, end = list_page(ENTRIES, {"MaxResults": 2, "NextToken": token})

    assert [shape["Name"] for shape in [*first, *rest]] == ["b", "c", "a"]
    assert end is None
    with pytest.raises(ServiceError, match="NextToken"):
        list_page(ENTRIES, {"NextToken": "x"})
