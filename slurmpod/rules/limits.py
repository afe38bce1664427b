"""Rules for the limits of what is deployed: policies of roles, the template of the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic_core import to_json

from slurmpod.deployment_record import record
from slurmpod.permissions import Scope, document, expected_scope, node_roles, policies
from slurmpod.request import cluster_request
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import GROUPS
from slurmpod.rules.registry import PRIVATE_SUBNETS, Area, Finding
from slurmpod.rules.request import OF_REQUESTS, neutral_references

LIMITS = Area("LIM", "Limits of what is deployed")

POLICY_CHARACTERS = 10_240
"""Sum of the inline policies of a role (IAM user guide, quotas)."""

TEMPLATE_BODY_LIMIT = 1_000_000
"""CloudFormation user guide, quotas: a template body in an S3 object, in bytes."""

CHARACTERS_OF_AN_EMPTY_TEMPLATE = 10_000
CHARACTERS_OF_REFERENCES = 800
CHARACTERS_AROUND_A_PART = 600
DEPTH_OF_THE_REQUEST = 4
CHARACTERS_OF_AN_ID = 50


@LIMITS.rule(
    "LIM-001",
    "The permissions of the nodes fit into their role",
    why="IAM takes 10,240 characters of inline policies per role; every key of a volume, every "
    "mounted bucket and every subnet is named in them.",
    fix="name fewer buckets or keys of volumes, or write 'roles: per_role' under identity",
    source="https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html",
    reads=("access", "account", "identity", "lifecycle", "name", "region", *PRIVATE_SUBNETS),
)
def _policies(resolved: Resolved) -> Iterator[Finding]:
    size = policy_characters(resolved)
    if size > POLICY_CHARACTERS:
        message = f"the role's policies would have about {size} characters"
        yield Finding(GROUPS, message, at_key=True)


def policy_characters(resolved: Resolved) -> int:
    """Return about how long the longest role's inline policies become; not less than they do."""
    if resolved.identity.existing:
        return 0
    scopes = (expected_scope(resolved, roles) for roles in node_roles(resolved).values())
    return max((_characters(_with_ids(scope, resolved)) for scope in scopes), default=0)


def _characters(scope: Scope) -> int:
    return sum(len(to_json(document(of_policy))) for of_policy in policies(scope).values())


def _with_ids(scope: Scope, resolved: Resolved) -> Scope:
    """Return a scope with ids as long as AWS makes them in place of unknown ones."""
    subnets = resolved.network.private
    secret = scope.database_secret
    groups = scope.security_group_ids
    return replace(
        scope,
        subnet_ids=tuple(subnet.id or "subnet-0a1b2c3d4e5f60718" for subnet in subnets),
        security_group_ids=tuple("sg-0a1b2c3d4e5f60718" if id_ == "*" else id_ for id_ in groups),
        database_secret=secret and replace(secret, arn=_with_id(secret.arn)),
        workspace_arn=scope.workspace_arn and _with_id(scope.workspace_arn),
    )


def _with_id(arn: str) -> str:
    """Return an ARN, or a form that leaves its id open, with as many characters as one may have."""
    return arn + "x" * CHARACTERS_OF_AN_ID if arn.endswith("*") else arn


@LIMITS.rule(
    "LIM-002",
    "The template of the cluster is one that CloudFormation takes",
    why="A template has at most 1 MB. That of the cluster holds its groups, and the environment "
    "itself as it was deployed, for `slurmpod diff`.",
    fix="use fewer groups, or name fewer alarms in their rollouts",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/"
    "cloudformation-limits.html",
    reads=("access", "identity", *OF_REQUESTS),  # without others the record is a little shorter
)
def _template(resolved: Resolved) -> Iterator[Finding]:
    size = template_characters(resolved)
    if size > TEMPLATE_BODY_LIMIT:
        message = f"the template of the cluster would have about {size} characters"
        yield Finding(GROUPS, message, at_key=True)


def template_characters(resolved: Resolved) -> int:
    """Return about how long the cluster's template becomes; not less than it does.

    References to other stacks are longer than their neutral stand-ins, and the request is nested
    some levels deep.
    """
    request = to_json(cluster_request(resolved, neutral_references(resolved)), indent=1)
    parts = record(resolved).values()
    written = "".join(parts)
    quotes_escaped = len(written) + written.count('"') + written.count("\\")
    return (
        CHARACTERS_OF_AN_EMPTY_TEMPLATE
        + len(request)
        + DEPTH_OF_THE_REQUEST * request.count(b"\n")
        + CHARACTERS_OF_REFERENCES * len(resolved.groups)
        + CHARACTERS_AROUND_A_PART * len(parts)
        + quotes_escaped
    )
