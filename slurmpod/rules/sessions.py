"""Rules for sessions through Systems Manager: as whom, with which key, for whom."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved, session_target
from slurmpod.resolve.sessions import INSTANCE_ID_PATTERN
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.shared_findings import (
    values_listed_twice,
)
from slurmpod.rules.sources import ACCESS_NODES, IAM_QUOTAS

SESSIONS = Area("SES", "Sessions", reads=("access",))

RUN_AS = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-preferences-run-as.html"
)
RECORDS = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-logging.html"
)
DOCUMENT = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-schema.html"
)

SECTION = ("access", "sessions")

FROM_TAG = "${tag}"
USERS_OF_THE_IMAGE = {"root", "ubuntu"}


@SESSIONS.rule(
    "SES-001",
    "Sessions run as an existing user",
    why="The Systems Manager agent ends a session at once when its user does not exist.",
    fix="write ubuntu, a user of this environment, or '${tag}'",
    source=RUN_AS,
    reads=("access", "cluster", "lifecycle"),
)
def _run_as_is_known(resolved: Resolved) -> Iterator[Finding]:
    sessions = resolved.access.sessions
    if sessions is None or sessions.run_as == FROM_TAG or _others_make_users(resolved):
        return
    names = [known.user.name for known in resolved.access.users]
    if sessions.run_as not in {*names, *USERS_OF_THE_IMAGE}:
        guess = did_you_mean(sessions.run_as, sorted({*names, *USERS_OF_THE_IMAGE}))
        yield Finding((*SECTION, "run_as"), f"the user '{sessions.run_as}' is not created", guess)


@SESSIONS.rule(
    "SES-002",
    "Sessions do not run as root",
    why="Anyone who may open one could do anything on the node and erase the traces. "
    "Administrators become root with sudo, which is logged.",
    fix="write ubuntu, or '${tag}' for separate users",
    source=RUN_AS,
    severity=Severity.WARNING,
)
def _nobody_is_root(resolved: Resolved) -> Iterator[Finding]:
    if resolved.access.sessions and resolved.access.sessions.run_as == "root":
        yield Finding((*SECTION, "run_as"), "everyone with a session is root")


@SESSIONS.rule(
    "SES-003",
    "Tags name existing users",
    why="With '${tag}' the caller's tag SSMSessionRunAs names the user on the node. The nodes have "
    "only the users of the image.",
    fix="list users below access, or name a directory",
    source=RUN_AS,
    severity=Severity.WARNING,
    reads=("access", "cluster", "lifecycle"),
)
def _tags_name_somebody(resolved: Resolved) -> Iterator[Finding]:
    sessions = resolved.access.sessions
    if sessions is None or sessions.run_as != FROM_TAG or _others_make_users(resolved):
        return
    if not resolved.access.users:
        yield Finding((*SECTION, "run_as"), "neither users nor a directory are named")


@SESSIONS.rule(
    "SES-004",
    "Sessions are recorded",
    why="Without records, it is impossible to find out later who did what on a node.",
    fix="write cloudwatch or s3, or accept it with the reason",
    source=RECORDS,
    severity=Severity.WARNING,
)
def _sessions_are_recorded(resolved: Resolved) -> Iterator[Finding]:
    if resolved.access.sessions and resolved.access.sessions.record == "none":
        yield Finding((*SECTION, "record"), "sessions are not recorded")


@SESSIONS.rule(
    "SES-005",
    "Records that are not kept have no end",
    why="With 'record: none' there is nothing to delete.",
    fix="remove retention_days",
    source="slurmpod/environment/access.py",
    severity=Severity.WARNING,
)
def _no_end_of_nothing(resolved: Resolved) -> Iterator[Finding]:
    sessions = resolved.access.sessions
    if sessions and sessions.record == "none" and "retention_days" in sessions.model_fields_set:
        yield Finding((*SECTION, "retention_days"), "nothing is recorded", at_key=True)


@SESSIONS.rule(
    "SES-008",
    "The maximum duration is longer than the idle timeout",
    why="A session that ends before the idle timeout never reaches it.",
    fix="write a shorter idle_timeout_minutes, or a longer max_duration_minutes",
    source=DOCUMENT,
    severity=Severity.WARNING,
)
def _rest_is_shorter(resolved: Resolved) -> Iterator[Finding]:
    sessions = resolved.access.sessions
    longest = sessions.max_duration_minutes if sessions else None
    if sessions and longest and longest < sessions.idle_timeout_minutes:
        message = f"sessions end after {longest} minutes, and may idle for "
        message += str(sessions.idle_timeout_minutes)
        yield Finding((*SECTION, "max_duration_minutes"), message)


def _others_make_users(resolved: Resolved) -> bool:
    """Return whether nodes may have users that this environment does not list."""
    return bool(
        resolved.access.directory
        or resolved.lifecycle.own_scripts
        or any(group.settings.image_id for group in resolved.groups)
    )


WHO = Area("WHO", "Where users may open sessions", reads=("access", "cluster"))


USER_GROUPS = ("access", "user_groups")

POLICY_CHARACTERS = 6144
"""The length of a managed policy, without spaces (IAM quotas)."""
CHARACTERS_OF_THE_REST = 1500
"""What the users' policy has beside the names of groups, with the longest name of a cluster."""
CLUSTER_ID = "0" * 12


@WHO.rule(
    "WHO-001",
    "Users may log in to existing groups",
    why="The policy for users names the groups on which they may open sessions.",
    fix="write the name of an instance group",
    source=ACCESS_NODES,
)
def _groups_are_there(resolved: Resolved) -> Iterator[Finding]:
    names = [group.name for group in resolved.groups]
    listed = resolved.environment.access.user_groups
    for index, name in enumerate(listed):
        if name not in names:
            guess = did_you_mean(name, [each for each in names if each not in listed])
            yield Finding((*USER_GROUPS, index), f"there is no instance group '{name}'", guess)


@WHO.rule(
    "WHO-002",
    "Users cannot open sessions on the controller",
    why="Slurm's settings, its state and the keys of all jobs are there, and a user who fills its "
    "disk or memory stops the cluster.",
    fix="remove the group; have a login group, or let users onto a worker group",
    source=ACCESS_NODES,
    severity=Severity.WARNING,
)
def _controller_is_for_administrators(resolved: Resolved) -> Iterator[Finding]:
    controllers = {group.name for group in resolved.groups_with(Role.CONTROLLER)}
    for index, name in enumerate(resolved.environment.access.user_groups):
        if name in controllers:
            yield Finding((*USER_GROUPS, index), f"'{name}' is the controller")


@WHO.rule(
    "WHO-003",
    "Users are let onto a group once",
    why="The second mention changes nothing: one of them may be meant to be another group.",
    fix="remove the entry, or write the other group",
    source="slurmpod/environment/access.py",
    severity=Severity.WARNING,
    reads=("access",),
)
def _groups_are_listed_once(resolved: Resolved) -> Iterator[Finding]:
    yield from values_listed_twice(resolved.environment.access.user_groups, *USER_GROUPS)


@WHO.rule(
    "WHO-004",
    "Users' groups are listed together with sessions",
    why="Without sessions there are no policies, and the list has no effect.",
    fix="write 'sessions: {}' under access, or remove user_groups",
    source="slurmpod/environment/access.py",
    severity=Severity.WARNING,
    reads=("access",),
)
def _user_groups_have_sessions(resolved: Resolved) -> Iterator[Finding]:
    if resolved.environment.access.user_groups and resolved.access.sessions is None:
        yield Finding(USER_GROUPS, "no policy is created for users", at_key=True)


@WHO.rule(
    "WHO-005",
    "Users can open sessions somewhere",
    why="The policy for users lets them onto login groups, unless user_groups says otherwise.",
    fix="add a login group, or list groups in user_groups",
    source=ACCESS_NODES,
    severity=Severity.WARNING,
)
def _users_get_in(resolved: Resolved) -> Iterator[Finding]:
    if resolved.access.sessions and not resolved.access.session_groups:
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
def _policy_is_short_enough(resolved: Resolved) -> Iterator[Finding]:
    size = users_policy_characters(resolved)
    if resolved.access.sessions and size > POLICY_CHARACTERS:
        message = f"the policy for users would have about {size} characters"
        yield Finding(USER_GROUPS, message, at_key=True)


def users_policy_characters(resolved: Resolved) -> int:
    """Return about how long the policy for users becomes; not less than it does."""
    targets = (
        session_target(CLUSTER_ID, group, INSTANCE_ID_PATTERN)
        for group in resolved.access.session_groups
    )
    return CHARACTERS_OF_THE_REST + sum(len(target) + len('"",') for target in targets)
