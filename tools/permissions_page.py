"""The permissions of nodes as a page of Markdown: docs/permissions.md is made of them."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.deploy.permissions.people import READING
from slurmpod.deploy.permissions.permission import Permission, Scope
from slurmpod.deploy.permissions.registry import NARROWED_BY_NOTHING, PERMISSIONS
from slurmpod.deploy.permissions.services import SERVICES
from slurmpod.environment.cluster import Role
from slurmpod.preflight.gather import CALLER, QUESTIONS

INTRODUCTION = """\
# Permissions of the nodes

Every node has the execution role of its group. This page lists all actions that slurmpod ever
grants such a role; an environment gets those that it needs, for its own resources. With
`identity.roles: per_role` each role gets what its nodes need; without login nodes, the controller
does their part.

`slurmpod permissions environments/dev.yaml` prints the policies of one environment, for roles made
by hand; `--check` asks the account whether roles and boundary suffice.

AWS's managed policy AmazonSageMakerClusterInstanceRolePolicy is not used: it lets every node read
all buckets of the account whose names begin with `sagemaker-`, also those of other environments,
and write into the logs of all clusters. The rest of what it allows is listed here, for this
environment's resources: see the policies Agents and LifecycleScripts.

Interface endpoints allow only these actions, of the services that the environment's policies name,
and only for identities of its account; that of KMS also allows what the session key's policy lets
nodes do. They allow all actions of services that no policy names, and all actions if roles, further
policies (`identity.policy_arns`) or the VPC are your own: their needs are not known here.

At the end: what [who runs slurmpod preflight](#who-runs-slurmpod-preflight) needs.

This page is made from `slurmpod/deploy/permissions` and `slurmpod/preflight` by `make golden`.
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

What SageMaker runs beside the cluster ([services](services.md)) has roles of its own, which nodes
cannot use. A permissions boundary must leave room for them, too.
"""

PEOPLE = """\
## People who look

Commands that only look need these actions, and change nothing. What is not allowed is said in its
place, and the rest is shown. A session on a node is the exception: `ssm:StartSession` with AWS's
document `AWS-StartNonInteractiveCommand` lets its holder be root there ([sessions](sessions.md)).
Without it Slurm is not asked.
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
        "The [preflight](preflight.md) only reads. A question is asked where the environment has "
        "what it is\nabout. Looking for what earlier deployments left also takes the rights to "
        "describe these things,\nsuch as `s3:ListBucket` and `logs:DescribeLogGroups`.\n"
    )
    yield "| question | actions |\n|---|---|"
    for question in (CALLER, *QUESTIONS):
        actions = ", ".join(f"`{action}`" for action in question.actions)
        yield f"| {question.subject} | {actions} |"
    yield ""
