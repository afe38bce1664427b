"""Nodes of a cluster as SageMaker lists them, of which tests name only what matters to them."""

from __future__ import annotations

from datetime import UTC, datetime

from slurmpod.aws.cluster import Node

LAUNCHED = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def live(
    group: str, instance_id: str, name: str = "", status: str = "Running", message: str = ""
) -> Node:
    """Return a node; without a name it has no address."""
    return Node(group, instance_id, "ml.m5.large", status, name or instance_id, LAUNCHED, message)
