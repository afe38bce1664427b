"""Rules for sessions through Systems Manager: as whom, with which key, and what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.rules.named_arns import of_another_account, of_another_region
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import ENCRYPTED_LOGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

SESSIONS = Area("SES", "Sessions")

RUN_AS = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-preferences-run-as.html"
)
RECORDS = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-logging.html"
)
DOCUMENT = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-schema.html"
)
KEYS = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-preferences-"
    "enable-encryption.html"
)

SECTION = ("access", "sessions")

FROM_TAG = "${tag}"
USERS_OF_THE_IMAGE = {"root", "ubuntu"}


@SESSIONS.rule(
    "SES-001",
    "Sessions run as a user whom the nodes have",
    why="The Systems Manager agent ends a session at once when its user does not exist.",
    fix="write ubuntu, a user of this environment, or '${tag}'",
    source=RUN_AS,
)
def _run_as_is_known(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    sessions = environment.access.sessions
    if sessions is None or sessions.run_as == FROM_TAG or _others_make_users(resolved):
        return
    names = [known.user.name for known in resolved.access.users]
    if sessions.run_as not in {*names, *USERS_OF_THE_IMAGE}:
        guess = did_you_mean(sessions.run_as, sorted({*names, *USERS_OF_THE_IMAGE}))
        yield Finding((*SECTION, "run_as"), f"nobody makes the user '{sessions.run_as}'", guess)


@SESSIONS.rule(
    "SES-002",
    "Sessions do not run as root",
    why="Whoever may open one could do anything on the node and wipe out who it was. "
    "Administrators become root with sudo, which is recorded.",
    fix="write ubuntu, or '${tag}' for users of their own",
    source=RUN_AS,
    severity=Severity.WARNING,
)
def _nobody_is_root(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.access.sessions and environment.access.sessions.run_as == "root":
        yield Finding((*SECTION, "run_as"), "everybody with a session is root")


@SESSIONS.rule(
    "SES-003",
    "Tags name users whom the nodes have",
    why="With '${tag}' the tag SSMSessionRunAs of whoever opens a session names the user on the "
    "node. There are none but those of the image.",
    fix="list users below access, or name a directory",
    source=RUN_AS,
    severity=Severity.WARNING,
)
def _tags_name_somebody(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    sessions = environment.access.sessions
    if sessions is None or sessions.run_as != FROM_TAG or _others_make_users(resolved):
        return
    if not resolved.access.users:
        yield Finding((*SECTION, "run_as"), "neither users nor a directory are named")


@SESSIONS.rule(
    "SES-004",
    "Sessions are recorded",
    why="Without records nobody can tell later who did what on a node.",
    fix="write cloudwatch or s3, or accept it with the reason",
    source=RECORDS,
    severity=Severity.WARNING,
)
def _sessions_are_recorded(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.access.sessions and environment.access.sessions.record == "none":
        yield Finding((*SECTION, "record"), "what people do in sessions is not recorded")


@SESSIONS.rule(
    "SES-005",
    "Records that are not kept have no end",
    why="With 'record: none' there is nothing to delete.",
    fix="remove retention_days",
    source="slurmpod/model/access.py",
    severity=Severity.WARNING,
)
def _no_end_of_nothing(environment: Environment, _: Resolved) -> Iterator[Finding]:
    sessions = environment.access.sessions
    if sessions and sessions.record == "none" and "retention_days" in sessions.model_fields_set:
        yield Finding((*SECTION, "retention_days"), "nothing is recorded", at_key=True)


@SESSIONS.rule(
    "SES-006",
    "The key of sessions lies in the Region",
    why="Session Manager, CloudWatch Logs and S3 use keys of their own Region only.",
    fix="name a key of the Region, or none: slurmpod makes one",
    source=KEYS,
)
def _key_lies_in_the_region(environment: Environment, _: Resolved) -> Iterator[Finding]:
    key = environment.access.sessions.kms_key_arn if environment.access.sessions else None
    yield from of_another_region(environment, key, (*SECTION, "kms_key_arn"))


@SESSIONS.rule(
    "SES-007",
    "The key of sessions belongs to the account",
    why="A key of another account works where its policy lets this account, its CloudWatch Logs, "
    "the nodes and the people use it.",
    fix="name a key of this account, or accept it once its policy does",
    source=ENCRYPTED_LOGS,
    severity=Severity.WARNING,
)
def _key_belongs_to_the_account(environment: Environment, _: Resolved) -> Iterator[Finding]:
    key = environment.access.sessions.kms_key_arn if environment.access.sessions else None
    yield from of_another_account(environment, key, (*SECTION, "kms_key_arn"))


@SESSIONS.rule(
    "SES-008",
    "Sessions may last longer than they may rest",
    why="A session that ends before it could have rested for so long never ends for resting.",
    fix="write a shorter idle_timeout_minutes, or a longer max_duration_minutes",
    source=DOCUMENT,
    severity=Severity.WARNING,
)
def _rest_is_shorter(environment: Environment, _: Resolved) -> Iterator[Finding]:
    sessions = environment.access.sessions
    longest = sessions.max_duration_minutes if sessions else None
    if sessions and longest and longest < sessions.idle_timeout_minutes:
        message = f"sessions end after {longest} minutes, and may rest for "
        message += str(sessions.idle_timeout_minutes)
        yield Finding((*SECTION, "max_duration_minutes"), message)


def _others_make_users(resolved: Resolved) -> bool:
    """Tell whether nodes may have users that this environment does not list."""
    return bool(
        resolved.access.directory
        or resolved.lifecycle.own_scripts
        or any(group.settings.image_id for group in resolved.groups)
    )
