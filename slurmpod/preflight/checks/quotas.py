"""Checks of service quotas: what the environment takes, beside what is there already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.resolve.network import SUBNETS
from slurmpod.rules.capacity import SPOT
from slurmpod.rules.groups import GROUPS
from slurmpod.rules.registry import Finding

HYPERPOD_QUOTAS = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites.html"
)
PLAN_QUOTAS = "https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-quotas.html"
VPC_QUOTAS = "https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html"
FSX_QUOTAS = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/limits.html"
RDS_QUOTAS = "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/CHAP_Limits.html"

INCREASE = "ask for a higher quota in Service Quotas, which takes hours to days, or take less"

PER_CLUSTER = "Maximum number instances allowed per SageMaker HyperPod cluster"
ALL_CLUSTERS = "Total number of instances allowed across SageMaker HyperPod clusters"
VOLUME_GB = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"


@PREFLIGHT.rule(
    "PRE-101",
    "Quotas allow the instances of each type",
    why="HyperPod starts no more instances of a type than its quota for cluster usage, which is 0 "
    "in new accounts for most accelerated types. The cluster fails after everything else was made.",
    fix=INCREASE,
    source=HYPERPOD_QUOTAS,
)
def _instances_of_each_type(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    used = Counter[str]()
    for cluster in facts.clusters or ():
        if cluster.name != resolved.name:
            used.update(cluster.instances)
    for group in resolved.groups:
        if _has_capacity_of_its_own(group) or len(group.instance_types) != 1:
            continue
        name = f"{group.instance_type} for cluster usage"
        quota = facts.quota("sagemaker", name)
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
    others = sum(each.total for each in facts.clusters or () if each.name != resolved.name)
    for name, needed in ((PER_CLUSTER, own), (ALL_CLUSTERS, own + others)):
        quota = facts.quota("sagemaker", name)
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
    quota = facts.quota("sagemaker", VOLUME_GB)
    for group in resolved.groups:
        size = group.settings.volume_gib or 0
        if quota is not None and size > quota:
            yield Finding((*group.path, "volume_gib"), f"the quota '{VOLUME_GB}' is {quota:g}")


@dataclass(frozen=True)
class _Need:
    """So much more of what a quota counts, beside what is `used`."""

    service: str
    code: str
    noun: str
    used: int
    more: int
    path: YamlPath

    def finding(self, facts: Facts) -> Iterator[Finding]:
        """Yield what is wrong where it is more than the quota."""
        quota = facts.quota(self.service, self.code)
        if quota is not None and self.more and self.used + self.more > quota:
            message = (
                f"the account may have {quota:g} {self.noun} ({self.code}) and has {self.used}; "
                f"this needs {self.more} more"
            )
            yield Finding(self.path, message)


@PREFLIGHT.rule(
    "PRE-104",
    "Quotas allow the network",
    why="A new VPC takes one of the Region's VPCs and internet gateways, each NAT gateway an "
    "Elastic IP: five of each are the default. Endpoints count in their VPC.",
    fix=f"{INCREASE}; or remove what is not used any more",
    source=VPC_QUOTAS,
)
def _network(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for need in _network_needs(resolved, facts):
        yield from need.finding(facts)


def _network_needs(resolved: Resolved, facts: Facts) -> Iterator[_Need]:
    network, usage, path = resolved.network, facts.usage, ("network",)
    if usage is None or not facts.will_be_made(resolved.stacks.network):
        return
    new, gateways = int(network.existing is None), network.nat_gateways
    yield _Need("vpc", "L-F678F1CE", "VPCs", usage.vpcs, new, path)
    internet = new and int(bool(gateways))
    yield _Need("vpc", "L-A4707A72", "internet gateways", usage.internet_gateways, internet, path)
    yield _Need("ec2", "L-0263D0A3", "Elastic IPs", usage.elastic_ips, gateways, path)
    vpc_id = network.existing.vpc_id if network.existing else ""
    there = usage.interface_endpoints.get(vpc_id, 0)
    count, noun = len(network.interface_endpoints), "interface endpoints in the VPC"
    yield _Need("vpc", "L-29B6F2EB", noun, there, count, path)


@PREFLIGHT.rule(
    "PRE-105",
    "The quota allows the nodes' network interfaces",
    why="Every address of a node is an interface in the account, and large types have dozens.",
    fix=INCREASE,
    source=VPC_QUOTAS,
)
def _interfaces(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.usage is None or not facts.will_be_made(resolved.stacks.cluster):
        return
    needed = sum(each.count * each.addresses_per_node for each in resolved.groups)
    used, noun = facts.usage.network_interfaces, "network interfaces"
    yield from _Need("vpc", "L-DF5E4CA3", noun, used, needed, GROUPS).finding(facts)


LUSTRE_QUOTAS = {
    "PERSISTENT_2": ("L-FD6F2F22", "L-8F1B9C74"),
    "PERSISTENT_1": ("L-9AFA1F09", "L-C8640C82"),
    "SCRATCH_1": ("L-C48231E5", "L-AD2FC696"),
    "SCRATCH_2": ("L-C48231E5", "L-AD2FC696"),
}
"""The quotas for the number and the capacity (GiB) of file systems of a deployment type."""

OPENZFS_QUOTAS = ("L-59D0763F", "L-88479C21")


@PREFLIGHT.rule(
    "PRE-106",
    "Quotas allow the file systems",
    why="FSx counts file systems and their capacity by type; a file system beyond the quota fails "
    "when the stack is half made.",
    fix=INCREASE,
    source=FSX_QUOTAS,
)
def _file_systems(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.file_systems is None or not facts.will_be_made(resolved.stacks.storage):
        return
    held = [
        (_codes(each.type, each.deployment_type), each.capacity_gib) for each in facts.file_systems
    ]
    for codes, capacity, path in _new_file_systems(resolved):
        same = [gib for of, gib in held if of == codes]
        for code, noun, used, more in (
            (codes[0], "file systems of this type", len(same), 1),
            (codes[1], "GiB in file systems of this type", sum(same), capacity),
        ):
            yield from _Need("fsx", code, noun, used, more, path).finding(facts)
        held.append((codes, capacity))


def _new_file_systems(resolved: Resolved) -> Iterator[tuple[tuple[str, str], int, YamlPath]]:
    for lustre in resolved.lustre:
        codes = _codes("LUSTRE", lustre.settings.deployment_type)
        if not lustre.settings.existing and any(codes):
            yield codes, lustre.capacity_gib or 0, lustre.path
    if resolved.openzfs and not resolved.openzfs.settings.existing:
        yield OPENZFS_QUOTAS, resolved.openzfs.settings.capacity_gib, resolved.openzfs.path


def _codes(kind: str, deployment_type: str) -> tuple[str, str]:
    return OPENZFS_QUOTAS if kind == "OPENZFS" else LUSTRE_QUOTAS.get(deployment_type, ("", ""))


@PREFLIGHT.rule(
    "PRE-107",
    "The quota allows the database",
    why="RDS counts the servers of a Region.",
    fix=INCREASE,
    source=RDS_QUOTAS,
)
def _database(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.databases is not None and facts.will_be_made(resolved.stacks.database):
        used, path = len(facts.databases), ("slurm", "rds")
        yield from _Need("rds", "L-7B6409FD", "servers of RDS", used, 1, path).finding(facts)


@PREFLIGHT.rule(
    "PRE-108",
    "Existing subnets have free addresses",
    why="What others have in a subnet takes its addresses, too. Nodes that get none fail, and the "
    "cluster with them.",
    fix="name a subnet with more free addresses, write efa-only, or take fewer nodes",
    source="https://docs.aws.amazon.com/vpc/latest/userguide/configure-subnets.html",
)
def _free_addresses(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.network is None or not facts.will_be_made(resolved.stacks.cluster):
        return
    for index, named in enumerate(
        resolved.network.existing.subnets if resolved.network.existing else ()
    ):
        found = facts.network.subnets.get(named.id)
        needed = next(
            each.addresses_needed for each in resolved.network.private if each.id == named.id
        )
        if found and found.free_addresses < needed:
            message = f"{named.id} has {found.free_addresses} free addresses; {needed} are needed"
            yield Finding((*SUBNETS, index, "id"), message)


@PREFLIGHT.rule(
    "PRE-109",
    "Quotas allow the instances of training plans",
    why="A plan is bought within quotas of its own. AWS asks for a quota for cluster usage that is "
    "no smaller than the plan, too.",
    fix=INCREASE,
    source=PLAN_QUOTAS,
    severity=Severity.WARNING,
)
def _instances_of_plans(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    needed = Counter[str]()
    for group in resolved.groups:
        if not group.settings.training_plan_arn:
            continue
        needed[group.instance_type] += group.count
        name = f"{group.instance_type} for cluster usage"
        quota = facts.quota("sagemaker", name)
        if quota is not None and needed[group.instance_type] > quota:
            wanted = f"{needed[group.instance_type]} come from training plans"
            yield Finding((*group.path, "count"), f"the quota '{name}' is {quota:g}; {wanted}")


@PREFLIGHT.rule(
    "PRE-110",
    "Quotas allow the spot instances",
    why="Spot instances have quotas of their own, of which AWS documents no name. So slurmpod "
    "judges none; it shows those of the account that seem to be meant.",
    fix="look for the type and 'spot' among the quotas of Amazon SageMaker in Service Quotas",
    source=SPOT,
    severity=Severity.NOTE,
)
def _spot_instances(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.capacity == "spot":
            seeming = "".join(
                f"; '{each.name}' is {each.value:g}"
                for each in facts.quotas or ()
                if each.service == "sagemaker"
                and "spot" in each.name.lower()
                and any(f"{kind} " in each.name for kind in group.instance_types)
            )
            message = f"not checked: the quota of {group.count} spot instances{seeming}"
            yield Finding((*group.path, "capacity"), message)
