"""All rules: the modules that hold them, in the order in which they are applied and documented."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from slurmpod.rules.registry import Area, Rule

MODULES = (
    "form",
    "known_values",
    "region",
    "tags",
    "arns",
    "network",
    "egress",
    "existing_network",
    "storage",
    "lustre",
    "lustre_access",
    "data_repositories",
    "openzfs",
    "cluster",
    "instance_types",
    "capacity",
    "volumes",
    "rollouts",
    "limits",
    "request",
    "partitions",
    "accounts",
    "slurm_resources",
    "slurm_settings",
    "slurm_conflicts",
    "lifecycle",
    "node_options",
    "checks",
    "multi_head",
    "rds",
    "own_scripts",
    "own_provisioning",
    "people",
    "ssh_keys",
    "homes",
    "directory",
    "sessions",
    "identity",
    "data_buckets",
    "monitoring",
    "budget",
    "endpoint",
    "notebook",
)


def _areas() -> Iterator[Area]:
    for name in MODULES:
        module = import_module(f"slurmpod.rules.{name}")
        yield from (each for each in vars(module).values() if isinstance(each, Area))


AREAS = tuple(_areas())


def all_rules() -> Iterator[Rule]:
    """Return every rule, area by area."""
    for area in AREAS:
        yield from area.rules


def rule_by_id(rule_id: str) -> Rule | None:
    """Return the rule with this id, in whatever case it was typed."""
    return next((rule for rule in all_rules() if rule.id == rule_id.upper()), None)
