"""Groups with missing nodes, which continuous provisioning adds one by one."""

from __future__ import annotations

from dataclasses import dataclass

from slurmpod.aws.cluster import IN_SERVICE, ClusterView


@dataclass(frozen=True)
class LateGroup:
    """A group with missing nodes; `reasons` are SageMaker's messages about them."""

    name: str
    instance_type: str
    in_service: int
    wanted: int
    reasons: tuple[str, ...]

    @property
    def has_none(self) -> bool:
        """Whether not even one node is there or on its way."""
        return len(self.reasons) >= self.wanted

    @property
    def text(self) -> str:
        """Return the number of missing nodes, and the reason."""
        lacking = self.wanted - self.in_service
        there = f"{self.in_service} of {self.wanted} nodes in service, {lacking} still to come"
        reason = f": {self.reasons[0]}" if self.reasons else ""
        return f"{self.name} ({self.instance_type}): {there}{reason}"


def late_groups(view: ClusterView, cluster: str) -> tuple[LateGroup, ...]:
    """Return the groups with fewer nodes than their target; raises AwsUnavailable."""
    groups = [each for each in view.cluster(cluster).groups if each.in_service < each.wanted]
    if not groups:
        return ()
    waiting = [each for each in view.nodes(cluster) if each.status != IN_SERVICE and each.message]
    return tuple(
        LateGroup(
            group.name,
            group.instance_type,
            group.in_service,
            group.wanted,
            tuple(node.message for node in waiting if node.group == group.name),
        )
        for group in groups
    )
