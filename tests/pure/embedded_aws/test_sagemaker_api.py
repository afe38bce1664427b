"""What HyperPod's API says of requests before, and while, it looks for clusters."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from embedded_aws.errors import ServiceError
from tests.pure.embedded_aws.cluster_requests import group, request
from tests.pure.embedded_aws.test_node_operations import Service

IMAGE = "ami-0123456789abcdef0"
OBSERVABILITY = "sagemaker-observability"
P5 = "ml.p5.48xlarge"
PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/"


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("BatchRebootClusterNodes", {"NodeIds": ["i-0123456789abcdef0"]}),
        ("DeleteCluster", {}),
        ("DescribeCluster", {}),
        ("DescribeClusterNode", {"NodeId": "i-0123456789abcdef0"}),
        ("ListClusterEvents", {}),
        ("ListClusterNodes", {}),
        ("UpdateCluster", {}),
        ("UpdateClusterSoftware", {}),
    ],
)
def test_a_name_that_no_cluster_can_have_is_a_wrong_request(
    service: Service, operation: str, given: dict[str, Any]
) -> None:
    with pytest.raises(ServiceError, match="at 'clusterName' failed") as refused:
        service.call(operation, ClusterName="bad name", **given)
    assert refused.value.code == "ValidationException"
    with pytest.raises(ServiceError) as missing:
        service.call(operation, ClusterName="nobody", **given)
    assert missing.value.code == "ResourceNotFound"


def test_the_rest_of_a_request_is_held_against_the_model_too(service: Service) -> None:
    with pytest.raises(ServiceError, match="at 'imageId' failed"):
        service.call("UpdateClusterSoftware", ClusterName="c1", ImageId="ami-x")


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("AddTags", {"Tags": [{"Key": "a", "Value": "b"}]}),
        ("DeleteTags", {"TagKeys": ["a"]}),
        ("ListTags", {}),
    ],
)
def test_tags_belong_to_what_an_arn_names(
    service: Service, operation: str, given: dict[str, Any]
) -> None:
    with pytest.raises(ServiceError, match="at 'resourceArn' failed"):
        service.call(operation, ResourceArn="c1", **given)
    service.call(operation, ResourceArn=service.cluster.arn, **given)


@pytest.mark.parametrize("key", ["aws:owner", "AWS:owner"])
def test_keys_that_only_aws_gives(service: Service, key: str) -> None:
    tags = [{"Key": key, "Value": "me"}]
    with pytest.raises(ServiceError, match="not allowed for external use") as refused:
        service.call("AddTags", ResourceArn=service.cluster.arn, Tags=tags)
    assert (refused.value.code, service.cluster.tags) == ("ValidationException", {})
    with pytest.raises(ServiceError, match="not allowed for external use"):
        service.call("CreateCluster", **request(ClusterName="c2", Tags=tags))


def offer(service: Service, **more: object) -> dict[str, Any]:
    """Search, and return what is offered in the zone of the clusters' subnet."""
    asked = {"InstanceType": P5, "InstanceCount": 2, **more}
    wanted = {name: value for name, value in asked.items() if value is not None}
    offered = service.call("SearchTrainingPlanOfferings", **wanted)["TrainingPlanOfferings"]
    first: dict[str, Any] = offered[0]
    return first


def reserve(service: Service, name: str, **more: object) -> None:
    offering = offer(service, **more)["TrainingPlanOfferingId"]
    asked = {"TrainingPlanName": name, "TrainingPlanOfferingId": offering}
    assert service.call("CreateTrainingPlan", **asked) == {"TrainingPlanArn": PLAN + name}


def test_clusters_are_listed_by_training_plan(service: Service) -> None:
    reserve(service, "mine")
    workers = group("workers", InstanceType=P5, TrainingPlanArn=f"{PLAN}mine")
    service.call("CreateCluster", **request(group("head"), workers, ClusterName="planned"))

    (found,) = service.call("ListClusters", TrainingPlanArn=f"{PLAN}mine")["ClusterSummaries"]
    assert (found["ClusterName"], found["TrainingPlanArns"]) == ("planned", [f"{PLAN}mine"])
    assert service.call("ListClusters", TrainingPlanArn=f"{PLAN}other")["ClusterSummaries"] == []
    assert len(service.call("ListClusters")["ClusterSummaries"]) == 2


def test_a_plan_is_reserved_from_an_offering_and_described(service: Service) -> None:
    reserve(service, "june", DurationHours=48)
    plan = service.call("DescribeTrainingPlan", TrainingPlanName="june")
    (capacity,) = plan["ReservedCapacitySummaries"]
    arn = capacity["ReservedCapacityArn"]
    described = service.call("DescribeReservedCapacity", ReservedCapacityArn=arn)

    assert (plan["Status"], plan["EndTime"] - plan["StartTime"]) == ("Active", timedelta(hours=48))
    assert (capacity["InstanceType"], capacity["AvailabilityZoneId"]) == (P5, "usw2-az2")
    assert (described["TotalInstanceCount"], described["AvailableInstanceCount"]) == (2, 2)
    (listed,) = service.call("ListTrainingPlans")["TrainingPlanSummaries"]
    assert listed == plan


def test_a_plan_that_begins_later_is_scheduled(service: Service) -> None:
    later = datetime.now(UTC) + timedelta(days=30)
    reserve(service, "later", StartTimeAfter=later)
    reserve(service, "now")

    by_status = {
        status: service.call("ListTrainingPlans", Filters=[{"Name": "Status", "Value": status}])
        for status in ("Scheduled", "Active", "Expired")
    }
    assert {
        status: [plan["TrainingPlanName"] for plan in found["TrainingPlanSummaries"]]
        for status, found in by_status.items()
    } == {"Scheduled": ["later"], "Active": ["now"], "Expired": []}


def test_ultra_servers_are_so_many_instances(service: Service) -> None:
    offering = offer(
        service, InstanceType=None, UltraServerType="ml.u-p6e-gb200x36", UltraServerCount=2
    )
    (capacity,) = offering["ReservedCapacityOfferings"]
    assert (capacity["InstanceType"], capacity["InstanceCount"]) == ("ml.p6e-gb200.36xlarge", 18)


@pytest.mark.parametrize(
    ("plan", "workers", "reason"),
    [
        ({}, {"count": 3}, "has 2 instances, which are 1 fewer"),
        ({}, {"InstanceType": "ml.p4d.24xlarge"}, "has ml.p4d.24xlarge, training plan june"),
        ({"TargetResources": ["training-job"]}, {}, "is not for HyperPod clusters"),
        ({}, {"TrainingPlanArn": f"{PLAN}nobodys"}, "nobodys does not exist"),
    ],
)
def test_groups_are_held_against_their_plan(
    service: Service, plan: dict[str, Any], workers: dict[str, Any], reason: str
) -> None:
    reserve(service, "june", **plan)
    wrong = group(
        "workers", **{"InstanceType": P5, "TrainingPlanArn": f"{PLAN}june", "count": 1, **workers}
    )
    with pytest.raises(ServiceError, match=reason):
        service.call("CreateCluster", **request(group("head"), wrong, ClusterName="c2"))


def test_a_plan_in_another_zone_is_of_no_use(service: Service) -> None:
    wanted = {"InstanceType": P5, "InstanceCount": 2}
    _, elsewhere = service.call("SearchTrainingPlanOfferings", **wanted)["TrainingPlanOfferings"]
    offering = elsewhere["TrainingPlanOfferingId"]
    service.call("CreateTrainingPlan", TrainingPlanName="far", TrainingPlanOfferingId=offering)
    workers = group("workers", InstanceType=P5, TrainingPlanArn=f"{PLAN}far")

    with pytest.raises(ServiceError, match=r"subnets in us-west-2a, .* far is in us-west-2b"):
        service.call("CreateCluster", **request(group("head"), workers, ClusterName="c2"))


def test_what_a_cluster_uses_of_a_plan_no_other_gets(service: Service) -> None:
    reserve(service, "june")
    workers = group("workers", 2, InstanceType=P5, TrainingPlanArn=f"{PLAN}june")
    service.call("CreateCluster", **request(group("head"), workers, ClusterName="c2"))

    plan = service.call("DescribeTrainingPlan", TrainingPlanName="june")
    described = service.call("DescribeCluster", ClusterName="c2")["InstanceGroups"]
    assert (plan["InUseInstanceCount"], plan["AvailableInstanceCount"]) == (2, 0)
    assert [each.get("TrainingPlanStatus") for each in described] == [None, "Active"]
    with pytest.raises(ServiceError, match="which are 2 fewer"):
        service.call("CreateCluster", **request(group("head"), workers, ClusterName="c3"))


def operations(service: Service, **given: object) -> list[tuple[str, str]]:
    listed = service.call("ListClusterOperations", ClusterName="c1", **given)
    return [(each["Type"], each["Status"]) for each in listed["ClusterOperationSummaries"]]


def test_changes_of_sizes_are_operations(service: Service) -> None:
    assert operations(service) == []
    service.do("delete", NodeIds=service.workers[:1])
    service.settle()

    assert operations(service) == [("Scaling", "Done")]
    assert operations(service, Status="InProgress") == operations(service, Type="DeepHealthCheck")
    (summary,) = service.call("ListClusterOperations", ClusterName="c1")[
        "ClusterOperationSummaries"
    ]
    described = service.call(
        "DescribeClusterOperation", ClusterName="c1", OperationId=summary["OperationId"]
    )
    assert described["ScalingDetails"] == [
        {
            "InstanceGroupName": "workers",
            "Original": {"CurrentCount": 2, "TargetCount": 2, "MinCount": 0},
            "Desired": {"TargetCount": 1, "MinCount": 0},
            "Status": "Done",
        }
    ]
    nobodys = "00000000-0000-0000-0000-000000000000"
    with pytest.raises(ServiceError, match="does not exist in cluster c1"):
        service.call("DescribeClusterOperation", ClusterName="c1", OperationId=nobodys)


def test_events_tell_to_which_operation_they_belong() -> None:
    service = Service(NodeProvisioningMode="Continuous")
    service.add(("workers", 1))
    service.settle()
    (summary,) = service.call("ListClusterOperations", ClusterName="c1")[
        "ClusterOperationSummaries"
    ]

    (event,) = service.call(
        "ListClusterEvents", ClusterName="c1", OperationId=summary["OperationId"]
    )["Events"]
    assert event["InstanceGroupName"] == "workers"


def test_running_nodes_are_checked_on_demand(service: Service) -> None:
    asked = [{"InstanceGroupName": "workers", "DeepHealthChecks": ["InstanceStress"]}]
    given = {"ClusterName": "c1", "DeepHealthCheckConfigurations": asked}
    assert service.call("StartClusterHealthCheck", **given) == {"ClusterArn": service.cluster.arn}
    service.settle()

    assert operations(service) == [("DeepHealthCheck", "Done")]
    assert {node.status for node in service.cluster.nodes} == {"Running"}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"InstanceGroupName": "nobodys"}, "Instance group nobodys does not exist"),
        ({"InstanceIds": ["i-0123456789abcdef0"]}, "i-0123456789abcdef0 does not exist in"),
    ],
)
def test_checks_of_what_is_not_there(service: Service, asked: dict[str, Any], reason: str) -> None:
    check = {"InstanceGroupName": "workers", "DeepHealthChecks": ["InstanceStress"], **asked}
    with pytest.raises(ServiceError, match=reason):
        service.call(
            "StartClusterHealthCheck", ClusterName="c1", DeepHealthCheckConfigurations=[check]
        )


def test_an_update_of_the_software_gives_nodes_the_image_that_is_asked_for(
    service: Service,
) -> None:
    groups = [{"InstanceGroupName": "workers"}]
    service.call("UpdateClusterSoftware", ClusterName="c1", ImageId=IMAGE, InstanceGroups=groups)
    service.settle()
    cluster = service.call("DescribeCluster", ClusterName="c1")
    head, workers = cluster["InstanceGroups"]
    node = service.call("DescribeClusterNode", ClusterName="c1", NodeId=service.workers[0])

    assert (head["CurrentImageId"], head["DesiredImageId"]) == (None, None)
    assert (workers["CurrentImageId"], workers["DesiredImageId"]) == (IMAGE, IMAGE)
    assert workers["TargetStateCount"] == 2
    assert node["NodeDetails"]["CurrentImageId"] == IMAGE
    with pytest.raises(ServiceError, match="ImageId is required: instance group workers"):
        service.call("UpdateClusterSoftware", ClusterName="c1")


def test_extensions_come_change_and_go() -> None:
    service = Service(NodeProvisioningMode="Continuous")
    here = {"ClusterArn": service.cluster.arn}
    levels = {"nodeMetrics": {"level": "ADVANCED"}, "ncclMetrics": {"level": "ENABLED"}}
    settings = {"prometheus": {"remoteWriteUrl": "https://x"}, "metricsProvider": levels}
    asked = {"ExtensionName": OBSERVABILITY, "ConfigurationValues": json.dumps(settings)}
    made = service.call("CreateClusterExtension", **here, **asked)
    with pytest.raises(ServiceError, match="has extension sagemaker-observability already"):
        service.call("CreateClusterExtension", **here, **asked)
    service.call(
        "UpdateClusterExtension",
        **here,
        **made,
        ConfigurationValues=json.dumps({"metricsProvider": {"ncclMetrics": None}}),
    )
    described = service.call("DescribeClusterExtension", **here, **made)
    (listed,) = service.call("ListClusterExtensions", **here)["Extensions"]

    kept = json.loads(described["ExtensionDetails"]["ConfigurationValues"])
    assert kept["prometheus"] == {"remoteWriteUrl": "https://x"}
    assert kept["metricsProvider"]["nodeMetrics"]["level"] == "ADVANCED"
    assert kept["metricsProvider"]["ncclMetrics"] == {
        "level": "DISABLED",
        "collectionIntervalSeconds": 30,
    }
    assert described["NodeSummary"] == {"TotalCount": 3, "ActiveCount": 3}
    assert (listed["ExtensionVersion"], listed["Status"]) == ("1.0.0", "Active")
    service.call("DeleteClusterExtension", **here, **made)
    assert service.call("ListClusterExtensions", **here)["Extensions"] == []


@pytest.mark.parametrize("settings", [{"a": 1}, {"metricsProvider": {"nodeMetric": {}}}])
def test_extensions_know_their_settings(settings: dict[str, Any]) -> None:
    service = Service(NodeProvisioningMode="Continuous")
    with pytest.raises(ServiceError, match=r"has unknown settings: (a|nodeMetric)"):
        service.call(
            "CreateClusterExtension",
            ClusterArn=service.cluster.arn,
            ExtensionName=OBSERVABILITY,
            ConfigurationValues=json.dumps(settings),
        )


def test_extensions_are_for_clusters_with_continuous_provisioning(service: Service) -> None:
    here = {"ClusterArn": service.cluster.arn, "ExtensionName": OBSERVABILITY}
    with pytest.raises(ServiceError, match="only supported for clusters using Continuous"):
        service.call("CreateClusterExtension", **here)
    assert (
        service.call("ListClusterExtensionVersions", ExtensionName="x")["ExtensionVersions"] == []
    )


def test_volumes_are_attached_to_clusters_with_eks_only(service: Service) -> None:
    given = {"NodeId": service.workers[0], "VolumeId": "vol-0123456789abcdef0"}
    with pytest.raises(ServiceError, match="clusters with EKS only"):
        service.call("AttachClusterNodeVolume", ClusterArn=service.cluster.arn, **given)


def test_an_interface_is_attached_once(service: Service) -> None:
    given = {
        "ClusterName": "c1",
        "NodeId": service.workers[0],
        "NetworkInterfaceId": "eni-0123456789abcdef0",
    }
    made = service.call("AttachClusterNodeNetworkInterface", **given)
    assert made["AttachmentId"].startswith("eni-attach-")
    with pytest.raises(ServiceError, match="is in use"):
        service.call("AttachClusterNodeNetworkInterface", **given)
