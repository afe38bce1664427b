"""An instance group: the facts of its types, its zone, the addresses of its nodes."""

from __future__ import annotations

from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.environment.cluster import Group
from slurmpod.problems import YamlPath
from slurmpod.resolve.resolved import ResolvedGroup


def resolve_group(path: YamlPath, group: Group, zone: str) -> ResolvedGroup:
    """Resolve the group at `path`; `zone` is where it is placed unless it says otherwise."""
    types = (group.instance_type,) if group.instance_type else group.instance_types
    facts_of_types = tuple(instance_types().get(name) for name in types)
    first = facts_of_types[0] if facts_of_types else None
    default_threads = first.default_threads_per_core if first else 1
    return ResolvedGroup(
        name=group.name,
        path=path,
        role=group.role,
        settings=group,
        instance_types=types,
        facts_of_types=facts_of_types,
        count=group.count,
        partition=group.partition,
        threads_per_core=group.threads_per_core or default_threads,
        zone=group.zone or zone,
        addresses_per_node=max((_addresses(group, each) for each in facts_of_types), default=1),
    )


def _addresses(group: Group, facts: InstanceType | None) -> int:
    """Return the addresses of one node: one per network card, unless those after it have none.

    Source: SageMaker HyperPod developer guide, prerequisites (a P5 takes 32).
    """
    if facts is None or group.network_interface == "efa-only":
        return 1
    return facts.network_cards
