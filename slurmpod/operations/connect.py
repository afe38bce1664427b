"""A way onto a node of a deployed cluster: the command that opens a session there."""

from __future__ import annotations

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_nodes import SessionNodes
from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved, session_names, session_target


def usual_group(resolved: Resolved) -> str:
    """Return the group where users work, or the controller's where there is none."""
    groups = (*resolved.access.session_groups, *_names_of_controllers(resolved))
    return groups[0]


def session_command(nodes: SessionNodes, resolved: Resolved, group: str, number: int) -> list[str]:
    """Return the command that opens a session on the node of a group; they count from 1.

    It needs no more of AWS than the policy for users allows.

    Raises:
        AwsUnavailable: AWS cannot be asked, or the group has no such node in service.
    """
    instances = nodes.running(resolved.name, group)
    if not 1 <= number <= len(instances):
        raise AwsUnavailable(f"{group} has no running node {number}, it has {len(instances)}")
    target = session_target(nodes.cluster_id(resolved.name), group, instances[number - 1])
    document = ["--document-name", session_names(resolved).document]
    return [
        *("aws", "ssm", "start-session", "--region", resolved.region, "--target", target),
        *(document if resolved.access.sessions else ()),
    ]


def _names_of_controllers(resolved: Resolved) -> list[str]:
    return [group.name for group in resolved.groups_with(Role.CONTROLLER)]
