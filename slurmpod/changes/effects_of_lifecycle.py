"""What changing fields does, about what scripts do on nodes: see `effects`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.changes.effect import (
    CLUSTER_AGAIN,
    GUARD,
    NEW_NODES,
    PATH_ON_NEW_NODES,
    Effect,
    Kind,
)
from slurmpod.model.lifecycle import READ_BY_SCRIPTS, Artefact, Hooks, Lifecycle, RoleHooks
from slurmpod.model.storage import Scratch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

BY_SCRIPTS = Effect(
    Kind.NEW_NODES, "counts for new nodes, and for nodes that run after `slurmpod lifecycle run`"
)
"""What slurmpod's own scripts bring about whenever they run."""

STAYS = Effect(Kind.NEW_NODES, "nodes that run keep what the scripts did until they are replaced")
"""What is switched off leaves its traces: scripts add to nodes, they take nothing away."""

LIFECYCLE: Mapping[type[BaseModel], Mapping[str, Effect]] = MappingProxyType(
    {
        Lifecycle: {
            "mode": CLUSTER_AGAIN,
            "scripts": NEW_NODES,
            "entry_script": NEW_NODES,
            "bucket_on_delete": GUARD,
            **dict.fromkeys(READ_BY_SCRIPTS, BY_SCRIPTS),
        },
        Hooks: dict.fromkeys(Hooks.model_fields, BY_SCRIPTS),
        RoleHooks: dict.fromkeys(RoleHooks.model_fields, BY_SCRIPTS),
        Artefact: dict.fromkeys(Artefact.model_fields, BY_SCRIPTS),
        Scratch: {"mount_path": PATH_ON_NEW_NODES},
    }
)

LESS_LIFECYCLE: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    dict.fromkeys(
        ((Lifecycle, key) for key in ("health_checks", "containers", "rotate_logs", "motd")), STAYS
    )
)
