"""Permissions of the Systems Manager agent for sessions that are recorded and encrypted."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.deploy.permissions.permission import ALL_NODES, Permission, Scope, Target
from slurmpod.resolve.sessions import SESSION_PREFIX

INSTANCE_PROFILE = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/"
    "getting-started-create-iam-instance-profile.html"
)


def _log_group(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.log_group:
        yield Target((scope.arn("logs", f"log-group:{scope.sessions.log_group}:*"),))


def _log_groups(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.log_group:
        yield Target(("*",))


def _bucket(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.bucket:
        yield Target((scope.bucket_arn(scope.sessions.bucket),))


def _records(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.bucket:
        yield Target((f"{scope.bucket_arn(scope.sessions.bucket)}/{SESSION_PREFIX}*",))


def _key(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.kms_key_arn:
        yield Target((scope.sessions.kms_key_arn,))


def _key_of_records(scope: Scope) -> Iterator[Target]:
    return _key(scope) if scope.sessions and scope.sessions.bucket else iter(())


SESSIONS: tuple[Permission[Scope], ...] = (
    Permission(
        policy="Sessions",
        sid="RecordSessions",
        actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
        resource="the environment's log group of sessions",
        needed_by="the Systems Manager agent, during sessions",
        roles=ALL_NODES,
        why="What is typed and shown in sessions is kept.",
        source=INSTANCE_PROFILE,
        targets=_log_group,
    ),
    Permission(
        policy="Sessions",
        sid="FindSessionRecords",
        actions=("logs:DescribeLogGroups",),
        resource="`*`: IAM knows no narrower one",
        needed_by="the Systems Manager agent, when a session starts",
        roles=ALL_NODES,
        why="The agent starts no session before it has seen that its records are encrypted.",
        source=INSTANCE_PROFILE,
        targets=_log_groups,
    ),
    Permission(
        policy="Sessions",
        sid="RecordSessions",
        actions=("s3:PutObject",),
        resource=f"objects below {SESSION_PREFIX} in the environment's bucket of sessions",
        needed_by="the Systems Manager agent, when a session ends",
        roles=ALL_NODES,
        why="What was typed and shown in sessions is kept.",
        source=INSTANCE_PROFILE,
        targets=_records,
    ),
    Permission(
        policy="Sessions",
        sid="FindSessionRecords",
        actions=("s3:GetEncryptionConfiguration",),
        resource="the environment's bucket of sessions",
        needed_by="the Systems Manager agent, when a session starts",
        roles=ALL_NODES,
        why="The agent starts no session before it has seen that its records are encrypted.",
        source=INSTANCE_PROFILE,
        targets=_bucket,
    ),
    Permission(
        policy="Sessions",
        sid="UseSessionKey",
        actions=("kms:Decrypt",),
        resource="access.sessions.kms_key_arn; a key that slurmpod makes lets nodes in by itself",
        needed_by="the Systems Manager agent, when a session starts",
        roles=ALL_NODES,
        why="Client and node agree on a data key of this key.",
        source=INSTANCE_PROFILE,
        targets=_key,
    ),
    Permission(
        policy="Sessions",
        sid="EncryptSessionRecords",
        actions=("kms:GenerateDataKey",),
        resource="access.sessions.kms_key_arn; a key that slurmpod makes lets nodes in by itself",
        needed_by="S3, for the Systems Manager agent",
        roles=ALL_NODES,
        why="S3 encrypts records with the permissions of who writes them.",
        source=INSTANCE_PROFILE,
        targets=_key_of_records,
    ),
)
