"""Resolved -> plan: stacks with their usual durations, costs, and IP addresses. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from slurmpod.environment.cluster import Role
from slurmpod.plan.costs import Cost, Part, Sum, costs, total
from slurmpod.plan.prices import Prices, Source
from slurmpod.resolve import Resolved, Subnet


@dataclass(frozen=True)
class Duration:
    """A published duration and its source."""

    minutes: tuple[int, int]
    source: str

    def __str__(self) -> str:
        """Return the duration in words: `8 to 20 minutes`."""
        low, high = self.minutes
        return f"about {low} minutes" if low == high else f"{low} to {high} minutes"


CLUSTER = Duration(
    (8, 20),
    "8 without FSx (ddii.dev, 2026), 15 to 20 with it (littlemex/zenn, December 2025)",
)
WHOLE = Duration(
    (20, 20),
    "network, file system, database and cluster together (aws-samples/"
    "sample-physical-ai-scaffolding-kit, physai/docs/TIMINGS.md, May 2026)",
)
"""The only complete deployment of this kind with a published duration."""


@dataclass(frozen=True)
class Step:
    """One stack of a deployment; `usually` is None without a published figure."""

    stack: str
    usually: Duration | None


@dataclass(frozen=True)
class Room:
    """Addresses of a private subnet: usable and taken (None: size not known), and capacity left.

    `more_nodes` is, for each group of workers in the zone, the number of nodes that could be added
    if no other group grows. Nodes of groups that are `uncounted` may take more addresses than the
    one that is counted: their type is not in the catalog.
    """

    zone: str
    cidr: str | None
    usable: int | None
    taken: int
    more_nodes: dict[str, int]
    uncounted: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The resources that `cdk deploy --all` creates for an environment.

    `steps` come one after the other, in this order: together they are the critical path.
    `whole` is how long a comparable deployment took. Three sums: with everything, after the
    stack of the cluster is destroyed, and after all stacks are.
    """

    name: str
    account: str
    region: str
    cluster_stack: str
    steps: tuple[Step, ...]
    whole: Duration
    costs: tuple[Cost, ...]
    total: Sum
    without_cluster: Sum
    after_destroy: Sum
    rooms: tuple[Room, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the prices, each once."""
        return tuple(dict.fromkeys(each.price.source for each in self.costs if each.price))


def plan_of(resolved: Resolved, prices: Prices) -> Plan:
    """Compute the plan of an environment with the prices of its Region."""
    found = costs(resolved, prices)
    durations = {resolved.stacks.cluster: CLUSTER}
    return Plan(
        name=resolved.name,
        account=resolved.account,
        region=resolved.region,
        cluster_stack=resolved.stacks.cluster,
        steps=tuple(Step(name, durations.get(name)) for name in resolved.stacks.in_order()),
        whole=WHOLE,
        costs=found,
        total=total(found),
        without_cluster=total(each for each in found if each.part is not Part.NODES),
        after_destroy=total(each for each in found if each.stays),
        rooms=tuple(_room(subnet, resolved) for subnet in resolved.network.private),
    )


def _room(subnet: Subnet, resolved: Resolved) -> Room:
    usable = subnet.addresses_usable
    left = (usable or 0) - subnet.addresses_needed
    here = [each for each in resolved.groups if each.zone == subnet.zone]
    uncounted = tuple(each.name for each in here if None in each.facts_of_types)
    growing = [each for each in here if each.role is Role.WORKER and each.name not in uncounted]
    return Room(
        subnet.zone,
        str(subnet.cidr) if subnet.cidr else None,
        usable,
        subnet.addresses_needed,
        {each.name: max(left, 0) // (each.addresses_per_node or 1) for each in growing}
        if usable is not None
        else {},
        uncounted,
    )
