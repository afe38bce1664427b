"""The page docs/permissions.md, generated from the permissions of nodes, services and people."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.permissions.people import READING
from slurmpod.permissions.permission import Permission, Scope
from slurmpod.permissions.registry import NARROWED_BY_NOTHING, PERMISSIONS
from slurmpod.permissions.services import SERVICES
from slurmpod.preflight.subjects import QUESTIONS
from slurmpod.preflight.subjects.account import CALLER

INTRODUCTION = """\
# Permissions of the nodes

All actions that slurmpod can grant to the execution role of a group. An environment grants only
those that it needs, for its own resources; with `identity.roles: per_role` each role gets only what
its nodes need. Without login nodes, the controller takes their part. The permissions that you need
to run slurmpod are at the end: [to look](#people-who-look), and
[for the preflight](#who-runs-slurmpod-preflight).

`slurmpod permissions environments/dev.yaml` prints the policies of one environment, for roles that
you create yourself; `--check` verifies in the account that roles and boundary suffice.

AWS's managed policy AmazonSageMakerClusterInstanceRolePolicy is not used: it lets every node read
all buckets whose names begin with `sagemaker-`, including those of other environments, and write to
the logs of all clusters. The policies Agents and LifecycleScripts allow its other actions, for this
environment only.

Interface endpoints allow only these actions, and only for identities of the account; the KMS
endpoint also allows the actions of nodes in the session key's policy. They allow all actions of
services that no policy names, and all actions if you bring the roles, further policies
(`identity.policy_arns`) or the VPC.

`make golden` generates this page from `slurmpod/permissions` and `slurmpod/preflight`.
"""

POLICIES = {
    "Network": "Interfaces in your network",
    "Agents": "Agents of HyperPod and Systems Manager",
    "VolumeKeys": "Keys of volumes",
    "Updates": "Updates that are rolled back",
    "LifecycleScripts": "Lifecycle scripts",
    "FileSystem": "File systems",
    "Accounting": "Job records",
    "Takeovers": "Several controllers",
    "Directory": "A directory of users",
    "Metrics": "Metrics",
    "Buckets": "Buckets as folders",
    "DataBuckets": "Buckets with data",
    "Images": "Container images",
    "JobSecrets": "Secrets of jobs",
    "Sessions": "Recorded and encrypted sessions",
}
"""Titles of the policies, in the order of the page."""


SERVICES_INTRODUCTION = """\
## Roles of services

[Services beside the cluster](services.md) have separate roles, which nodes cannot use. A
permissions boundary must allow their actions, too.
"""

PEOPLE = """\
## People who look

These commands change nothing. Parts that you may not read are named; the rest is shown. To query
Slurm, you need `ssm:StartSession` with AWS's document `AWS-StartNonInteractiveCommand`, which also
lets you become root on the node ([sessions](sessions.md)).
"""


def permissions_page() -> str:
    """Return the page of all permissions by policy, then those of people who look."""
    people = ("", PEOPLE, *_reading(), *_preflight())
    return "\n".join((INTRODUCTION, *_sections(), *_exceptions(), *_services(), *people))


def _reading() -> Iterator[str]:
    yield "| command | action | resource | purpose |"
    yield "|---|---|---|---|"
    for command, rights in READING.items():
        for right in rights:
            yield f"| `slurmpod {command}` | `{right.action}` | {right.resource} | {right.why} |"
    yield ""


def _sections() -> Iterator[str]:
    for policy, title in POLICIES.items():
        yield f"## {title} (policy {policy})\n"
        for permission in PERMISSIONS:
            if permission.policy == policy:
                yield _section(permission)


def _services() -> Iterator[str]:
    yield SERVICES_INTRODUCTION
    for title, permissions in SERVICES.items():
        yield f"### {title} (policy {permissions[0].policy})\n"
        yield "| statement | actions | resource | why | source |\n|---|---|---|---|---|"
        for each in permissions:
            actions = ", ".join(f"`{action}`" for action in each.actions)
            condition = f"; condition: {each.condition}" if each.condition else ""
            resource = f"{each.resource}{condition}"
            yield f"| {each.sid} | {actions} | {resource} | {each.why} | <{each.source}> |"
        yield ""


def _section(permission: Permission[Scope]) -> str:
    actions = ", ".join(f"`{action}`" for action in permission.actions)
    condition = f"- Condition: {permission.condition}\n" if permission.condition else ""
    return (
        f"### {permission.sid}\n\n"
        f"{actions}\n\n"
        f"- Resource: {permission.resource}\n"
        f"{condition}"
        f"- Needed by: {permission.needed_by}\n"
        f"- Nodes: {_nodes(permission)}\n"
        f"- Why: {permission.why}\n"
        f"- Source: <{permission.source}>\n"
    )


def _nodes(permission: Permission[Scope]) -> str:
    if permission.roles == frozenset(Role):
        return "all"
    return ", ".join(role for role in Role if role in permission.roles)


def _exceptions() -> Iterator[str]:
    yield "## On `*` although IAM could narrow it\n"
    for action, reason in NARROWED_BY_NOTHING.items():
        yield f"- `{action}`: {reason}.\n"


def _preflight() -> Iterator[str]:
    yield (
        "## Who runs slurmpod preflight\n\n"
        "The [preflight](preflight.md) only reads, and queries only what the environment has. "
        "To find\nremains of earlier deployments, it also calls describing actions, such as "
        "`s3:ListBucket` and\n`logs:DescribeLogGroups`.\n"
    )
    yield "| question | actions |\n|---|---|"
    for question in (CALLER, *QUESTIONS):
        actions = ", ".join(f"`{action}`" for action in question.actions)
        yield f"| {question.subject} | {actions} |"
    yield ""
