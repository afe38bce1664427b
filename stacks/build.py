"""Resolved -> the CDK app of an environment: its stacks, each deployed after the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from aws_cdk import App, Stack

from slurmpod.bundle import Bundle
from slurmpod.resolve import Resolved
from slurmpod_cdk.access import access_of
from slurmpod_cdk.cluster import ClusterStack
from slurmpod_cdk.cluster_watch import cluster_watch_of
from slurmpod_cdk.database import database_of
from slurmpod_cdk.identity import node_roles_of
from slurmpod_cdk.lifecycle import lifecycle_of
from slurmpod_cdk.monitoring import watching_of
from slurmpod_cdk.network import network_of
from slurmpod_cdk.parts.cost_tags import tag_everything
from slurmpod_cdk.storage import file_systems_of


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
    cluster_watch_of(app, resolved, cluster, watching)
    access_of(app, resolved, cluster, roles)
    _deploy_in_order(app, resolved.stacks.in_order())
    tag_everything(app, resolved.tags)
    return app


def _deploy_in_order(app: App, names: Sequence[str]) -> None:
    """Let each stack wait for the one before; a stack that nobody made is an error."""
    stacks = [Stack.of(app.node.find_child(name)) for name in names]
    for earlier, later in pairwise(stacks):
        later.add_stack_dependency(earlier)
