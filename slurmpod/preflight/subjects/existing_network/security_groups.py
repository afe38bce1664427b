"""Traffic between nodes that a VPC's security groups allow."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from ipaddress import IPv4Network

from embedded_aws.reachability.model import ALL_PROTOCOLS, Rule
from slurmpod.environment.cluster import Role
from slurmpod.preflight import names
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.existing_network.network import NETWORK, SecurityGroup
from slurmpod.resolve import Resolved
from slurmpod.rules.existing_network import EXISTING, LUSTRE_ACCESS
from slurmpod.rules.groups import has_efa
from slurmpod.rules.registry import Finding

EFA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html"


@PREFLIGHT.rule(
    "PRE-304",
    "Security groups allow traffic between nodes",
    why="Slurm, Lustre and NFS use many ports between nodes, and FSx refuses a file system "
    "whose group does not allow Lustre. HyperPod requires all traffic within a group.",
    fix="allow all protocols from the group itself, and to itself or everywhere",
    source=LUSTRE_ACCESS,
)
def _members_reach_each_other(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    groups = _groups(resolved, facts)
    ranges = _ranges(resolved, facts)
    if groups and not (
        any(_lets_all(each.ingress, groups, ranges) for each in groups.values())
        and any(_lets_all(each.egress, groups, ranges) for each in groups.values())
    ):
        message = f"{', '.join(groups)} do not allow all traffic between their members"
        yield Finding((*EXISTING, "security_group_ids"), message)


@PREFLIGHT.rule(
    "PRE-305",
    "Security groups allow EFA",
    why="EFA needs rules for all traffic from and to the group itself; a rule for 0.0.0.0/0 does "
    "not count. Without them jobs over several nodes hang.",
    fix="allow all protocols from and to the group itself",
    source=EFA,
)
def _efa_passes(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    groups = _groups(resolved, facts)
    if not groups or not any(has_efa(each) for each in resolved.groups_with(Role.WORKER)):
        return
    if not any(
        _names_itself(id_, each.ingress) and _names_itself(id_, each.egress)
        for id_, each in groups.items()
    ):
        message = "no group allows all traffic from and to itself"
        yield Finding((*EXISTING, "security_group_ids"), message)


def _groups(resolved: Resolved, facts: Facts) -> dict[str, SecurityGroup]:
    network = facts[NETWORK]
    found = network.security_groups if network else {}
    named = names.security_groups(resolved)
    return {id_: each for id_ in named if (each := found.get(id_))}


def _ranges(resolved: Resolved, facts: Facts) -> list[IPv4Network]:
    network = facts[NETWORK]
    found = network.subnets if network else {}
    named = names.subnets(resolved)
    return [IPv4Network(each.cidr) for id_ in named if (each := found.get(id_))]


def _lets_all(
    rules: Collection[Rule], groups: Collection[str], ranges: Collection[IPv4Network]
) -> bool:
    """Return whether rules allow all traffic to members of the groups, or to their subnets."""
    whole = [rule for rule in rules if rule.protocol == ALL_PROTOCOLS]
    by_group = any(set(rule.groups) & set(groups) for rule in whole)
    let = [IPv4Network(cidr) for rule in whole for cidr in rule.cidrs]
    return by_group or all(any(each.subnet_of(cidr) for cidr in let) for each in ranges)


def _names_itself(id_: str, rules: Collection[Rule]) -> bool:
    return any(rule.protocol == ALL_PROTOCOLS and id_ in rule.groups for rule in rules)
