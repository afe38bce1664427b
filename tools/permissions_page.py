"""The permissions of nodes as a page of Markdown: docs/permissions.md is made of them."""

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

All actions that slurmpod ever grants the execution role of a group. An environment gets those that
it needs, for its own resources; with `identity.roles: per_role` each role gets what its nodes need.
Without login nodes, the controller does their part. What you need to run slurmpod is at the end:
[to look](#people-who-look), and [for the preflight](#who-runs-slurmpod-preflight).

`slurmpod permissions environments/dev.yaml` prints the policies of one environment, for roles made
by hand; `--check` asks the account whether roles and boundary suffice.

AWS's managed policy AmazonSageMakerClusterInstanceRolePolicy is not used: it lets every node read
all buckets whose names begin with `sagemaker-`, also of other environments, and write into the logs
of all clusters. The policies Agents and LifecycleScripts allow the rest, for this environment.

Interface endpoints allow only these actions, and only for identities of the account; that of KMS
also allows what the session key's policy lets nodes do. They allow all actions of services that no
policy names, and all actions if roles, further policies (`identity.policy_arns`) or the VPC are
your own.

Made from `slurmpod/permissions` and `slurmpod/preflight` by `make golden`.
"""

POLICIES = {
    "Network": "Interfaces in your network",
    "Agents": "Agents of HyperPod and Systems Manager",
    "VolumeKeys": "Keys of volumes",
    "Updates": "Updates that turn back",
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

[Services beside the cluster](services.md) have roles of their own, which nodes cannot use. A
permissions boundary must leave room for them, too.
"""

PEOPLE = """\
## People who look

These commands change nothing. What you may not read is named in its place; the rest is shown. To
ask Slurm, you need `ssm:StartSession` with AWS's document `AWS-StartNonInteractiveCommand`, which
also lets you be root on the node ([sessions](sessions.md)).
"""


def permissions_page() -> str:
    """Return the page of all permissions, policy by policy, and what people need to look."""
    people = ("", PEOPLE, *_reading(), *_preflight())
    return "\n".join((INTRODUCTION, *_sections(), *_exceptions(), *_services(), *people))


def _reading() -> Iterator[str]:
    yield "| command | action | resource | what for |"
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
        "The [preflight](preflight.md) only reads, and asks only about what the environment has. "
        "To look for\nwhat earlier deployments left, it also describes these things, such as with "
        "`s3:ListBucket` and\n`logs:DescribeLogGroups`.\n"
    )
    yield "| question | actions |\n|---|---|"
    for question in (CALLER, *QUESTIONS):
        actions = ", ".join(f"`{action}`" for action in question.actions)
        yield f"| {question.subject} | {actions} |"
    yield ""
