"""Rules for the instance groups on which users may open sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.model.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve import session_target
from slurmpod.resolve.sessions import INSTANCE_ID_PATTERN
from slurmpod.rules.listed_once import values_listed_twice
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import ACCESS_NODES, IAM_QUOTAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

WHO = Area("WHO", "Where users may open sessions")


USER_GROUPS = ("access", "user_groups")

POLICY_CHARACTERS = 6144
"""The length of a managed policy, without spaces (IAM quotas)."""
CHARACTERS_OF_THE_REST = 1500
"""What the users' policy has beside the names of groups, with the longest name of a cluster."""
CLUSTER_ID = "0" * 12


@WHO.rule(
    "WHO-001",
    "Users are let onto groups that are there",
    why="The policy for users names the groups on which they may open sessions.",
    fix="write the name of an instance group",
    source=ACCESS_NODES,
)
def _groups_are_there(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    names = [group.name for group in resolved.groups]
    for index, name in enumerate(environment.access.user_groups):
        if name not in names:
            guess = did_you_mean(name, names)
            yield Finding((*USER_GROUPS, index), f"there is no instance group '{name}'", guess)


@WHO.rule(
    "WHO-002",
    "Users cannot open sessions on the controller",
    why="Slurm's own settings, its state and the keys of all jobs lie there, and whoever fills its "
    "disk or memory stops the cluster.",
    fix="remove the group; have a login group, or let users onto a worker group",
    source=ACCESS_NODES,
    severity=Severity.WARNING,
)
def _controller_is_for_administrators(
    environment: Environment, resolved: Resolved
) -> Iterator[Finding]:
    controllers = {group.name for group in resolved.groups_with(Role.CONTROLLER)}
    for index, name in enumerate(environment.access.user_groups):
        if name in controllers:
            yield Finding((*USER_GROUPS, index), f"'{name}' is the controller")


@WHO.rule(
    "WHO-003",
    "Users are let onto a group once",
    why="The second mention changes nothing: one of them may be meant to be another group.",
    fix="remove the entry, or write the other group",
    source="slurmpod/model/access.py",
    severity=Severity.WARNING,
)
def _groups_are_listed_once(environment: Environment, _: Resolved) -> Iterator[Finding]:
    yield from values_listed_twice(environment.access.user_groups, *USER_GROUPS)


@WHO.rule(
    "WHO-004",
    "Where users may go is said with sessions",
    why="Without sessions there are no policies, and the list has no effect.",
    fix="write 'sessions: {}' below access, or remove user_groups",
    source="slurmpod/model/access.py",
    severity=Severity.WARNING,
)
def _user_groups_have_sessions(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.access.user_groups and environment.access.sessions is None:
        yield Finding(USER_GROUPS, "no policy is made for users", at_key=True)


@WHO.rule(
    "WHO-005",
    "Users can open sessions somewhere",
    why="The policy for users lets them onto login groups, unless user_groups says otherwise.",
    fix="add a login group, or list groups in user_groups",
    source=ACCESS_NODES,
    severity=Severity.WARNING,
)
def _users_get_in(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if environment.access.sessions and not resolved.access.session_groups:
        message = "there is no login group: only administrators get a policy for sessions"
        yield Finding(("access", "sessions"), message, at_key=True)


@WHO.rule(
    "WHO-006",
    "The policy for users is one that IAM takes",
    why=f"A managed policy has at most {POLICY_CHARACTERS} characters. That for users names every "
    "group on which they may open sessions.",
    fix="let users onto fewer groups, or give these shorter names",
    source=IAM_QUOTAS,
)
def _policy_is_short_enough(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    size = users_policy_characters(resolved)
    if environment.access.sessions and size > POLICY_CHARACTERS:
        message = f"the policy for users would have about {size} characters"
        yield Finding(USER_GROUPS, message, at_key=True)


def users_policy_characters(resolved: Resolved) -> int:
    """Return about how long the policy for users becomes; not less than it does."""
    targets = (
        session_target(CLUSTER_ID, group, INSTANCE_ID_PATTERN)
        for group in resolved.access.session_groups
    )
    return CHARACTERS_OF_THE_REST + sum(len(target) + len('"",') for target in targets)
