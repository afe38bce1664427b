"""Values of an environment that identify its replaceable resources."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from slurmpod.environment.base import Kind, effect_of
from slurmpod.resolve import Resolved, ResolvedLustre, ResolvedNetwork


def what_replaces(resolved: Resolved) -> dict[str, Any]:
    """Return the values whose change replaces file systems, subnets or the metrics workspace.

    Fields with their default are left out, so that a new field leaves deployed resources unchanged.
    """
    monitoring = resolved.environment.monitoring
    found = {
        "storage": replacing_values(resolved.environment.storage),
        "tagged_backups": [each.name for each in resolved.lustre if copies_tags(each)],
        "prometheus": replacing_values(monitoring.prometheus)
        if monitoring and monitoring.prometheus
        else {},
    }
    return {"network": _network(resolved.network), **{k: v for k, v in found.items() if v}}


def replacing_values(section: BaseModel) -> dict[str, Any]:
    """Return the fields whose change replaces a resource, if they differ from their defaults."""
    found: dict[str, Any] = {}
    dumped = section.model_dump(mode="json")
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            found[name] = replacing_values(value)
        elif effect_of(field).kind is Kind.REPLACES:
            is_default = value == field.get_default(call_default_factory=True)
            found[name] = None if is_default else dumped[name]
        elif isinstance(value, tuple):
            found[name] = [replacing_values(each) for each in value if isinstance(each, BaseModel)]
    return {name: value for name, value in found.items() if value not in (None, {}, [])}


def copies_tags(lustre: ResolvedLustre) -> bool:
    """Return whether backups get tags, which is left out without backups."""
    backups = lustre.settings.backups
    return bool(backups and backups.copy_tags)


def _network(network: ResolvedNetwork) -> dict[str, Any]:
    existing = network.existing
    return {
        "vpc": existing.vpc_id if existing else str(network.vpc_cidr),
        "security_groups": list(existing.security_group_ids) if existing else [],
        "subnets": [[each.zone, each.id or str(each.cidr)] for each in network.private],
    }
