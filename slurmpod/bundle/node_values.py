"""The `node` part of settings.json: what nodes are made of, and what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.environment.lifecycle import Artefact
from slurmpod.reading.hooks import ROLES, TIMES, hook_path
from slurmpod.resolve import Resolved


def node_values(resolved: Resolved) -> Mapping[str, Any]:
    """Return it as plain data; its reader is slurmpod_lifecycle.settings."""
    lifecycle, access = resolved.environment.lifecycle, resolved.environment.access
    scratch = resolved.environment.storage.scratch
    types = {group.name: group.instance_types for group in resolved.groups}
    named = sorted({name for names in types.values() for name in names})
    known = instance_types()
    return {
        "instance_types": types,
        "hardware": {name: _hardware(known[name]) for name in named if name in known},
        "scratch_path": scratch.mount_path if scratch else None,
        "health_checks": lifecycle.health_checks,
        "containers": lifecycle.containers,
        "rotate_logs": lifecycle.rotate_logs,
        "motd": lifecycle.motd,
        "ssh_between_nodes": access.ssh_between_nodes,
        "ssh_needs_job": access.ssh_needs_job,
        "has_way_out": not resolved.network.closed,
        "artefacts": [_artefact(each, resolved) for each in lifecycle.artefacts],
        "hooks": _hooks(resolved),
    }


def artefact_key(artefact: Artefact, resolved: Resolved) -> str:
    """Return the key of a mirrored artefact in the lifecycle bucket.

    It is below the prefix that nodes may read, and beside the bundles, which no deployment prunes.
    """
    file_name = artefact.url.rpartition("/")[2]
    return f"{resolved.lifecycle.prefix}/artefacts/{artefact.sha256}/{file_name}"


def _hardware(facts: InstanceType) -> dict[str, object]:
    return {
        "architecture": facts.architecture,
        "accelerator_kind": facts.accelerator_kind,
        "accelerators": facts.accelerator_count,
        "efa_interfaces": facts.efa_interfaces,
        "nvme_gb": facts.local_nvme_gb,
    }


def _hooks(resolved: Resolved) -> Mapping[str, Mapping[str, str]]:
    """Return the paths in the bundle by role, then by when they run."""
    found: dict[str, dict[str, str]] = {}
    for role in ROLES:
        for when in TIMES:
            if hook_path(role, when) in resolved.lifecycle.hooks:
                found.setdefault(role, {})[when] = hook_path(role, when)
    return found


def _artefact(artefact: Artefact, resolved: Resolved) -> dict[str, str]:
    return {
        "name": artefact.name,
        "architecture": artefact.architecture,
        "url": artefact.url,
        "sha256": artefact.sha256,
        "mirror": f"s3://{resolved.lifecycle.bucket}/{artefact_key(artefact, resolved)}",
    }
