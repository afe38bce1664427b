"""Resolved -> the CDK app of an environment: its stacks, each deployed after the one before."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from aws_cdk import App

from stacks.access import access_of
from stacks.cluster import ClusterStack
from stacks.cluster_watch import cluster_watch_of
from stacks.database import database_of
from stacks.identity import node_roles_of
from stacks.lifecycle import lifecycle_of
from stacks.monitoring import watching_of
from stacks.network import network_of
from stacks.parts.cost_tags import tag_everything
from stacks.storage import file_systems_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rendering import Bundle
    from slurmpod.resolve import Resolved


def build_app(resolved: Resolved, bundle: Bundle | None, *, context: Mapping[str, Any]) -> App:
    """Return the app of an environment, ready to be reviewed and synthesized.

    `bundle` is None where there are no scripts (managed mode). `context` holds the feature flags of
    cdk.json. The CDK command line passes them by itself, nothing else does, and without them the
    templates are different ones.
    """
    app = App(context=context)
    network = network_of(app, resolved)
    file_systems = file_systems_of(app, resolved, network)
    database = database_of(app, resolved, network)
    watching = watching_of(app, resolved, network, file_systems)
    lifecycle = lifecycle_of(app, resolved, bundle, file_systems, database, watching)
    roles = node_roles_of(app, resolved, network, database, watching)
    cluster = ClusterStack(
        app,
        resolved=resolved,
        network=network,
        file_systems=file_systems,
        database=database,
        lifecycle=lifecycle,
        roles=roles,
    )
    before = (part.stack for part in (network, file_systems, database, watching) if part)
    after = (
        cluster_watch_of(app, resolved, cluster, watching),
        access_of(app, resolved, cluster, roles),
    )
    stacks = (*before, lifecycle, roles.stack, cluster, *after)
    for earlier, later in pairwise(stack for stack in stacks if stack):
        later.add_stack_dependency(earlier)
    tag_everything(app, resolved.tags)
    return app
