"""Resolved -> the stacks of environments, each deployed after the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any, TypeGuard

from aws_cdk import App, CfnResource, Stack, TagManager, Tags
from constructs import Construct

from slurmpod.bundle import render_bundle
from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved
from slurmpod_cdk.access.stack import access_of
from slurmpod_cdk.cluster.stack import ClusterStack
from slurmpod_cdk.cluster_watch.stack import cluster_watch_of
from slurmpod_cdk.database.stack import database_of
from slurmpod_cdk.endpoint.stack import endpoint_of
from slurmpod_cdk.feature_flags import require_feature_flags
from slurmpod_cdk.identity.stack import node_roles_of
from slurmpod_cdk.lifecycle.stack import lifecycle_of
from slurmpod_cdk.monitoring.stack import watching_of
from slurmpod_cdk.network.stack import NetworkIds, network_of
from slurmpod_cdk.notebook import notebook_of
from slurmpod_cdk.storage.stack import file_systems_of


def build_app(environments: Iterable[Resolved], *, context: Mapping[str, Any]) -> App:
    """Return the app of some environments, ready to be reviewed and synthesized.

    `context` holds the feature flags of cdk.json, which only the CDK CLI passes automatically.

    Raises:
        MissingFeatureFlags: Flags are missing, so that the templates would differ.
    """
    app = App(context=context)
    require_feature_flags(app)
    for resolved in environments:
        add_stacks(app, resolved)
    return app


def add_stacks(
    scope: Construct,
    resolved: Resolved,
    *,
    network: NetworkIds | None = None,
    role_arns: Mapping[Role, str] | None = None,
) -> Mapping[str, Stack]:
    """Add the stacks of an environment to an app or a part of one; return them by field.

    `network` and `role_arns` are from the app if the environment is resolved for it.
    """
    placed = network_of(scope, resolved, network)
    file_systems = file_systems_of(scope, resolved, placed)
    database = database_of(scope, resolved, placed)
    watching = watching_of(scope, resolved, placed, file_systems)
    lifecycle = lifecycle_of(
        scope, resolved, render_bundle(resolved), file_systems, database, watching
    )
    roles = node_roles_of(scope, resolved, placed, database, watching, role_arns)
    cluster = ClusterStack(
        scope,
        resolved=resolved,
        network=placed,
        file_systems=file_systems,
        database=database,
        lifecycle=lifecycle,
        roles=roles,
    )
    cluster_watch_of(scope, resolved, cluster, watching)
    access_of(scope, resolved, cluster, roles)
    endpoint_of(scope, resolved, placed, watching)
    notebook_of(scope, resolved, placed, file_systems)
    names = asdict(resolved.stacks).items()
    stacks = {kind: Stack.of(scope.node.find_child(name)) for kind, name in names if name}
    for earlier, later in pairwise(stacks.values()):
        later.add_stack_dependency(earlier)
    for stack in stacks.values():
        tag_everything(stack, resolved.tags)
    return stacks


GENERIC_TYPES = frozenset({"AWS::IAM::Role", "AWS::Lambda::Function"})
"""Resource types of the CDK's functions for custom resources: generic resources, which the CDK does
not tag."""


def tag_everything(stack: Stack, tags: Mapping[str, str]) -> None:
    """Add tags, which group costs in bills, to every taggable resource of `stack`.

    Call it once all constructs exist.
    """
    for key, value in tags.items():
        Tags.of(stack).add(key, value)
    listed = [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
    for construct in stack.node.find_all():
        if _is_passed_over(construct):
            construct.add_property_override("Tags", listed)


def _is_passed_over(construct: object) -> TypeGuard[CfnResource]:
    return (
        isinstance(construct, CfnResource)
        and construct.cfn_resource_type in GENERIC_TYPES
        and not TagManager.is_taggable(construct)
    )
