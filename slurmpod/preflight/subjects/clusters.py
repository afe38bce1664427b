"""HyperPod clusters of the Region, and the quotas for their instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.quotas import INCREASE, QUOTAS, quota_of
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.rules.capacity import SPOT
from slurmpod.rules.groups import GROUPS
from slurmpod.rules.registry import Finding

HYPERPOD_QUOTAS = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites.html"
)
PER_CLUSTER = "Maximum number instances allowed per SageMaker HyperPod cluster"
ALL_CLUSTERS = "Total number of instances allowed across SageMaker HyperPod clusters"
VOLUME_GB = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"


@dataclass(frozen=True)
class ClusterUse:
    """A HyperPod cluster of the Region, and its requested instances of each type.

    Those of training plans are counted by plan, and not by type; `spot` are those of spot capacity,
    of all types together. Facts saved by earlier versions do not have it.
    """

    name: str
    status: str
    instances: Mapping[str, int]
    of_plans: Mapping[str, int]
    spot: int = 0

    @property
    def total(self) -> int:
        """Number of requested instances, of any capacity type."""
        return sum(self.instances.values()) + sum(self.of_plans.values()) + self.spot


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


CLUSTERS = Question(
    "clusters",
    "HyperPod clusters",
    ("sagemaker:DescribeCluster", "sagemaker:ListClusters"),
    ("sagemaker",),
    _clusters,
)


@PREFLIGHT.rule(
    "PRE-101",
    "Quotas allow the instances of each type",
    why="HyperPod starts no more instances of a type than its quota for cluster usage, which is "
    "0 in new accounts for most accelerated types. The cluster fails after everything else "
    "was created.",
    fix=INCREASE,
    source=HYPERPOD_QUOTAS,
)
def _instances_of_each_type(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    used = Counter[str]()
    for cluster in facts[CLUSTERS] or ():
        if cluster.name != resolved.name:
            used.update(cluster.instances)
    for group in resolved.groups:
        if _has_capacity_of_its_own(group) or len(group.instance_types) != 1:
            continue
        name = f"{group.instance_type} for cluster usage"
        quota = quota_of(facts, "sagemaker", name)
        others = used[group.instance_type]
        used[group.instance_type] += group.count
        if quota is not None and others + group.count > quota:
            beside = f", beside {others} others" if others else ""
            message = f"the quota '{name}' is {quota:g}; this needs {group.count}{beside}"
            yield Finding((*group.path, "count"), message)


def _has_capacity_of_its_own(group: ResolvedGroup) -> bool:
    return bool(group.settings.training_plan_arn) or group.settings.capacity == "spot"


@PREFLIGHT.rule(
    "PRE-102",
    "Quotas allow the instances of the cluster",
    why="HyperPod has a quota for the instances of one cluster, and one for those of all clusters "
    "of a Region together.",
    fix=INCREASE,
    source=HYPERPOD_QUOTAS,
)
def _instances_of_the_cluster(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    own = sum(group.count for group in resolved.groups)
    others = sum(each.total for each in facts[CLUSTERS] or () if each.name != resolved.name)
    for name, needed in ((PER_CLUSTER, own), (ALL_CLUSTERS, own + others)):
        quota = quota_of(facts, "sagemaker", name)
        if quota is not None and needed > quota:
            yield Finding(
                GROUPS, f"the quota '{name}' is {quota:g}; {needed} are needed", at_key=True
            )


@PREFLIGHT.rule(
    "PRE-103",
    "The quota allows the additional volumes",
    why="HyperPod refuses instance groups with larger volumes.",
    fix=INCREASE,
    source=HYPERPOD_QUOTAS,
)
def _volumes(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    quota = quota_of(facts, "sagemaker", VOLUME_GB)
    for group in resolved.groups:
        size = group.settings.volume_gib or 0
        if quota is not None and size > quota:
            yield Finding((*group.path, "volume_gib"), f"the quota '{VOLUME_GB}' is {quota:g}")


@PREFLIGHT.rule(
    "PRE-110",
    "Quotas allow the spot instances",
    why="Spot instances have separate quotas, whose names AWS does not document. So slurmpod "
    "does not check them; it shows the account's quotas that seem to apply.",
    fix="look for the type and 'spot' among the quotas of Amazon SageMaker in Service Quotas",
    source=SPOT,
    severity=Severity.NOTE,
)
def _spot_instances(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.capacity == "spot":
            seeming = "".join(
                f"; '{each.name}' is {each.value:g}"
                for each in facts[QUOTAS] or ()
                if each.service == "sagemaker"
                and "spot" in each.name.lower()
                and any(f"{kind} " in each.name for kind in group.instance_types)
            )
            message = f"not checked: the quota of {group.count} spot instances{seeming}"
            yield Finding((*group.path, "capacity"), message)


QUESTIONS = (CLUSTERS,)
