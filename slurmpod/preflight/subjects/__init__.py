"""The subjects of preflight: each file has the facts, queries and checks of one.

Queries only read. Checks are pure functions of facts.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from slurmpod.preflight.question import Question

MODULES = (
    "account",
    "zones",
    "quotas",
    "network_usage",
    "clusters",
    "file_systems",
    "databases",
    "training_plans",
    "existing_network.network",
    "existing_network.parts",
    "existing_network.security_groups",
    "existing_network.endpoints",
    "existing_network.vpc_graph",
    "existing_network.paths",
    "buckets",
    "keys",
    "secrets",
    "images",
    "bootstrap",
    "stacks",
    "free_names",
    "leftovers",
    "identity",
    "notifications",
    "notebook",
    "endpoint",
)
"""In the order of the queries, on pages and in saved facts."""

QUESTIONS: tuple[Question[Any], ...] = tuple(
    question
    for module in MODULES
    for question in getattr(import_module(f"{__name__}.{module}"), "QUESTIONS", ())
)
"""All queries except that for the caller, which the others depend on."""
