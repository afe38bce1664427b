"""Questions about quotas, and about what takes them up already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.preflight import names
from slurmpod.preflight.facts import ClusterUse, FileSystem, Quota, TrainingPlan, Usage
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import Resolved

SERVICES = ("ec2", "fsx", "rds", "sagemaker", "vpc")
OF_ENVIRONMENTS = (
    "for cluster usage",
    "for endpoint usage",
    "for notebook instance usage",
    "HyperPod",
    "spot",
    "training plans",
)
"""Words in the names of the few among SageMaker's thousands of quotas that matter here."""


def ask_quotas(clients: AwsClients, _: Resolved | None = None) -> tuple[Quota, ...]:
    """Return the quotas that environments can meet."""
    return tuple(quota for service in SERVICES for quota in _quotas(clients, service))


def _quotas(clients: AwsClients, service: str) -> Iterator[Quota]:
    pages = clients.service_quotas.get_paginator("list_service_quotas").paginate(
        ServiceCode=service
    )
    for page in pages:
        for each in page["Quotas"]:
            name = each["QuotaName"]
            if service != "sagemaker" or any(word in name for word in OF_ENVIRONMENTS):
                yield Quota(service, each["QuotaCode"], name, each["Value"])


def _usage(clients: AwsClients, _: Resolved) -> Usage:
    ec2 = clients.ec2
    endpoints = _all(ec2, "describe_vpc_endpoints", "VpcEndpoints")
    kinds = [each["VpcId"] for each in endpoints if each.get("VpcEndpointType") == "Interface"]
    return Usage(
        vpcs=len(_all(ec2, "describe_vpcs", "Vpcs")),
        internet_gateways=len(_all(ec2, "describe_internet_gateways", "InternetGateways")),
        elastic_ips=len(ec2.describe_addresses()["Addresses"]),
        network_interfaces=len(_all(ec2, "describe_network_interfaces", "NetworkInterfaces")),
        interface_endpoints=dict(Counter(kinds)),
    )


def _all(client: Any, operation: str, member: str) -> list[Any]:
    return [each for page in client.get_paginator(operation).paginate() for each in page[member]]


def _clusters(clients: AwsClients, _: Resolved) -> tuple[ClusterUse, ...]:
    pages = clients.sagemaker.get_paginator("list_clusters").paginate()
    summaries = [each for page in pages for each in page["ClusterSummaries"]]
    found = (_cluster(clients, each["ClusterName"]) for each in summaries)
    return tuple(each for each in found if each)


def _cluster(clients: AwsClients, name: str) -> ClusterUse | None:
    with suppressed("ResourceNotFound"):  # gone meanwhile
        found = clients.sagemaker.describe_cluster(ClusterName=name)
        instances, of_plans, spot = Counter[str](), Counter[str](), 0
        for group in found.get("InstanceGroups", []):
            count = max(group.get("TargetCount", 0), group.get("CurrentCount", 0))
            if plan := group.get("TrainingPlanArn"):
                of_plans[plan] += count
            elif "Spot" in group.get("CapacityRequirements", {}):
                spot += count
            else:
                instances[group.get("InstanceType", "several types")] += count
        return ClusterUse(name, found["ClusterStatus"], dict(instances), dict(of_plans), spot)
    return None


def _file_systems(clients: AwsClients, _: Resolved) -> tuple[FileSystem, ...]:
    found = _all(clients.fsx, "describe_file_systems", "FileSystems")
    return tuple(_file_system(each) for each in found)


def _file_system(found: Any) -> FileSystem:
    settings = found.get("LustreConfiguration") or found.get("OpenZFSConfiguration") or {}
    return FileSystem(
        id=found["FileSystemId"],
        type=found["FileSystemType"],
        deployment_type=settings.get("DeploymentType", ""),
        capacity_gib=found.get("StorageCapacity", 0),
        lifecycle=found["Lifecycle"],
        vpc_id=found.get("VpcId", ""),
        mount_name=settings.get("MountName", ""),
    )


def _databases(clients: AwsClients, _: Resolved) -> tuple[str, ...]:
    found = _all(clients.rds, "describe_db_instances", "DBInstances")
    return tuple(each["DBInstanceIdentifier"] for each in found)


def _training_plans(clients: AwsClients, resolved: Resolved) -> dict[str, TrainingPlan | None]:
    return {arn: _training_plan(clients, arn) for arn in names.training_plans(resolved)}


def _training_plan(clients: AwsClients, arn: str) -> TrainingPlan | None:
    with suppressed("ResourceNotFound"):
        found: Any = clients.sagemaker.describe_training_plan(
            TrainingPlanName=arn.rpartition("/")[2]
        )
        capacities = found.get("ReservedCapacitySummaries", [])
        first = capacities[0] if capacities else {}
        return TrainingPlan(
            status=found["Status"],
            targets=tuple(found.get("TargetResources", ())),
            instance_type=first.get("InstanceType", ""),
            zone=first.get("AvailabilityZone", ""),
            instances=found.get("TotalInstanceCount", 0),
            starts=found.get("StartTime"),
            ends=found.get("EndTime"),
        )
    return None


QUESTIONS = (
    Question(
        "quotas",
        "service quotas",
        ("servicequotas:ListServiceQuotas",),
        ("service_quotas",),
        ask_quotas,
    ),
    Question(
        "usage",
        "what takes up quotas",
        (
            "ec2:DescribeAddresses",
            "ec2:DescribeInternetGateways",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeVpcEndpoints",
            "ec2:DescribeVpcs",
        ),
        ("ec2",),
        _usage,
    ),
    Question(
        "clusters",
        "HyperPod clusters",
        ("sagemaker:DescribeCluster", "sagemaker:ListClusters"),
        ("sagemaker",),
        _clusters,
    ),
    Question("file_systems", "file systems", ("fsx:DescribeFileSystems",), ("fsx",), _file_systems),
    Question(
        "databases",
        "servers of RDS",
        ("rds:DescribeDBInstances",),
        ("rds",),
        _databases,
        lambda resolved: bool(resolved.slurm.rds),
    ),
    Question(
        "training_plans",
        "training plans",
        ("sagemaker:DescribeTrainingPlan",),
        ("sagemaker",),
        _training_plans,
        lambda resolved: bool(names.training_plans(resolved)),
    ),
)
