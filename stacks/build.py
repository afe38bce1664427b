"""Resolved -> the CDK app of an environment: five stacks, each deployed after the one before."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from aws_cdk import App, Tags

from stacks.cluster import ClusterStack
from stacks.identity import IdentityStack
from stacks.lifecycle import LifecycleStack
from stacks.network import NetworkStack
from stacks.storage import StorageStack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rendering import Bundle
    from slurmpod.resolve import Resolved


def build_app(resolved: Resolved, bundle: Bundle, *, context: Mapping[str, Any]) -> App:
    """Return the app of an environment, ready to be reviewed and synthesized.

    `context` holds the feature flags of cdk.json. The CDK command line passes them by itself,
    nothing else does, and without them the templates are different ones.
    """
    app = App(context=context)
    network = NetworkStack(app, resolved=resolved)
    storage = StorageStack(app, resolved=resolved, network=network)
    lifecycle = LifecycleStack(app, resolved=resolved, bundle=bundle, storage=storage)
    identity = IdentityStack(app, resolved=resolved, network=network)
    cluster = ClusterStack(
        app, resolved=resolved, network=network, lifecycle=lifecycle, identity=identity
    )
    for earlier, later in pairwise((network, storage, lifecycle, identity, cluster)):
        later.add_stack_dependency(earlier)
    for key, value in resolved.tags.items():
        Tags.of(app).add(key, value)
    return app
