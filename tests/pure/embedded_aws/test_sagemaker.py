"""HyperPod's API as the embedded AWS answers it, held against botocore's own model of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.session
import pytest
from botocore.model import ListShape, Shape, StringShape, StructureShape

from embedded_aws.cluster import (
    Cluster,
    ClusterNode,
    ClusterSettings,
    FileSystemMount,
    NetworkInterface,
    NodeType,
    SlurmConfig,
    VpcConfig,
)
from embedded_aws.errors import ServiceError, summary, violations
from embedded_aws.sagemaker import describe
from embedded_aws.sagemaker.describe import Entry, describe_event, list_events, list_page
from embedded_aws.sagemaker.events import creation_ends
from embedded_aws.sagemaker.node_operations import (
    DELETION,
    REBOOT,
    REPLACEMENT,
    choose,
)
from embedded_aws.sagemaker.requests import read_groups, read_settings
from tests.pure.embedded_aws.cluster_requests import (
    COMPUTE,
    CONTROLLER,
    DATABASE,
    LIFECYCLE,
    LUSTRE,
    OPENZFS,
    group,
    request,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


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
        "10.1.0.0/24", "us-west-2a", "usw2-az2", "vpc-12345678",
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
        settings=read_settings(asked, "abcdefghijkl"),
        vpc_config=VpcConfig(("sg-12345678",), ("subnet-12345678",)),
        network=NoNetwork(),
        created_at=NOW,
        request=asked,
        nodes=[node, pending],
        status="InService",
    )


EVERYTHING = request(
    group("controller", SlurmConfig=CONTROLLER),
    group(
        "workers",
        2,
        ThreadsPerCore=1,
        MinInstanceCount=1,
        SlurmConfig=COMPUTE,
        InstanceStorageConfigs=[
            {"EbsVolumeConfig": {"VolumeSizeInGB": 500}},
            {"FsxLustreConfig": LUSTRE},
            {"FsxOpenZfsConfig": {**OPENZFS, "MountPath": "/shared"}},
        ],
        OnStartDeepHealthChecks=["InstanceStress"],
        OverrideVpcConfig={"SecurityGroupIds": ["sg-87654321"], "Subnets": ["subnet-87654321"]},
        NetworkInterface={"InterfaceType": "efa"},
        CapacityRequirements={"OnDemand": {}},
        TrainingPlanArn="arn:aws:sagemaker:us-west-2:111122223333:training-plan/p",
        ImageId="ami-0123456789abcdef0",
        ScheduledUpdateConfig={"ScheduleExpression": "cron(0 0 1 * ? *)"},
        AutoPatchConfig={
            "PatchingStrategy": "WhenIdle",
            "PatchSchedule": {"NextPatchDate": NOW},
            "IdleWaitWindowInSeconds": 7200,
        },
    ),
    group(
        "any",
        0,
        InstanceType=None,
        InstanceRequirements={"InstanceTypes": ["ml.c5.large", "ml.m5.large"]},
        SlurmConfig=COMPUTE,
    ),
    NodeRecovery="Automatic",
    NodeProvisioningMode="Continuous",
    Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}},
)


def answers(cluster: Cluster) -> dict[str, dict[str, Any]]:
    cluster.events.append(creation_ends(cluster, cluster.nodes[0], "no capacity"))
    (event,) = list_events(cluster, {})["Events"]
    given = {"ClusterName": "c1", "NodeIds": ["i-0123456789abcdef0", "i-00000000000000000"]}
    nodes = [describe.node_summary_shape(node) for node in cluster.nodes]
    return {
        **{
            each.api_name: choose(cluster, given, each, is_at_rest=True).answer
            for each in (DELETION, REBOOT, REPLACEMENT)
        },
        "DescribeCluster": describe.cluster_shape(cluster),
        "DescribeClusterEvent": describe_event(cluster, event["EventId"]),
        "ListClusterEvents": list_events(cluster, {}),
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
    assert workers["DesiredImageId"] == "ami-0123456789abcdef0"
    assert workers["AutoPatchConfig"]["DesiredPatchSchedule"] == {"NextPatchDate": NOW}


def test_describes_which_types_a_group_of_several_has() -> None:
    cluster = cluster_of(EVERYTHING)
    cluster.nodes = [replace(cluster.nodes[0], group="any", instance_type="ml.m5.large")]
    flexible = describe.cluster_shape(cluster)["InstanceGroups"][2]

    assert flexible["InstanceRequirements"]["DesiredInstanceTypes"] == [
        "ml.c5.large",
        "ml.m5.large",
    ]
    assert flexible["InstanceRequirements"]["CurrentInstanceTypes"] == ["ml.m5.large"]
    assert flexible["InstanceTypeDetails"][0]["CurrentCount"] == 1


def test_a_group_in_service_that_awaits_its_smallest_number_is_being_created() -> None:
    cluster = cluster_of(EVERYTHING)
    assert describe.cluster_shape(cluster)["InstanceGroups"][1]["Status"] == "InService"
    cluster.nodes = []
    assert describe.cluster_shape(cluster)["InstanceGroups"][1]["Status"] == "Creating"


def test_a_group_in_service_of_which_an_instance_has_failed_is_degraded() -> None:
    cluster = cluster_of(EVERYTHING)
    cluster.nodes[1].status = "Failure"
    groups = describe.cluster_shape(cluster)["InstanceGroups"]
    assert [group["Status"] for group in groups] == ["InService", "Degraded", "InService"]
    cluster.status = "Updating"
    assert describe.cluster_shape(cluster)["InstanceGroups"][1]["Status"] == "Updating"


@pytest.mark.parametrize("status", ["Creating", "Deleting", "Failed", "RollingBack", "Updating"])
def test_groups_have_statuses_that_the_api_model_has(status: str) -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    cluster = cluster_of(EVERYTHING)
    cluster.status = status
    shape = model.operation_model("DescribeCluster").output_shape
    assert shape is not None
    assert list(unfitting(shape, describe.cluster_shape(cluster), "DescribeCluster")) == []


def test_describes_where_a_node_is() -> None:
    cluster = cluster_of(EVERYTHING)
    node = describe.node_shape(cluster, cluster.nodes[0])

    assert node["PrivatePrimaryIp"] == "10.1.0.4"
    assert node["Placement"]["AvailabilityZoneId"] == "usw2-az2"
    assert node["LifeCycleConfig"] == LIFECYCLE


def test_a_group_that_overrides_the_network_has_its_own() -> None:
    controller, workers, _ = read_groups(EVERYTHING)

    assert controller.vpc_config.subnet_ids == ("subnet-12345678",)
    assert workers.vpc_config.subnet_ids == ("subnet-87654321",)


def test_a_group_knows_its_file_systems_and_its_place_in_slurm() -> None:
    controller, workers, flexible = read_groups(EVERYTHING)

    assert workers.mounts == (
        FileSystemMount(
            "lustre", "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh", "/fsx"
        ),
        FileSystemMount("nfs", "fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com:/fsx", "/shared"),
    )
    assert workers.slurm == SlurmConfig(NodeType.COMPUTE, "cpu")
    assert controller.slurm == SlurmConfig(NodeType.CONTROLLER, None)
    assert flexible.instance_type == "ml.c5.large"


@pytest.mark.parametrize(
    ("lifecycle", "configures_itself"),
    [
        (LIFECYCLE, False),
        ({"SourceS3Uri": "s3://sagemaker-x/v1", "OnInitComplete": "x.sh"}, True),
        (None, True),
    ],
)
def test_only_oncreate_scripts_take_over_a_nodes_configuration(
    lifecycle: dict[str, str] | None, configures_itself: bool
) -> None:
    (only,) = read_groups(request(group("a", LifeCycleConfig=lifecycle)))
    assert only.configures_itself == configures_itself


def test_reads_what_holds_for_the_whole_cluster() -> None:
    settings = read_settings(EVERYTHING, "abcdefghijkl")
    assert settings.is_continuous
    assert settings.accounting_database is not None
    assert settings.accounting_database.name == "slurm_acct_db_abcdefghijkl"
    assert settings.accounting_database.port == 3306
    assert read_settings(request(), "x") == ClusterSettings(
        is_continuous=False, strategy="Merge", accounting_database=None
    )


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
