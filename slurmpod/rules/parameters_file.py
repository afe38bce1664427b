"""The user's own provisioning_parameters.json as rules look at it: its form, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

from slurmpod.deploy.cluster_request import is_configured_by_api
from slurmpod.resolve import Resolved

FILE_NAME = "provisioning_parameters.json"

TEXTS = ("login_group", "fsx_dns_name", "fsx_mountname", "fsx_openzfs_dns_name")
"""Keys that may be left out."""

Document = dict[str, Any]


def content_of_parameters(resolved: Resolved) -> bytes | None:
    """Return the file among the user's scripts, or None where there is none."""
    own = resolved.lifecycle.own_scripts
    return own.files.get(FILE_NAME) if own else None


def parameters(resolved: Resolved) -> Document | None:
    """Return the file's content where it has the right form, and a mode in which it is read."""
    content = content_of_parameters(resolved)
    if content is None or is_configured_by_api(resolved):
        return None
    try:
        document = from_json(content)
    except ValueError:
        return None
    return None if any(mistakes_of_form(document)) else document


def mistakes_of_form(document: Any) -> Iterator[str]:
    """Yield what keeps HyperPod and AWS's scripts from reading a JSON document."""
    if not isinstance(document, dict):
        yield "is no JSON object"
        return
    if document.get("workload_manager") != "slurm":
        yield 'does not say "workload_manager": "slurm"'
    for key in ("version", "controller_group"):
        if not isinstance(document.get(key), str):
            yield f"has no text under {key}"
    for key in TEXTS:
        if not isinstance(document.get(key), str | None):
            yield f"has something else than text under {key}"
    if not isinstance(document.get("slurm_configurations"), dict | None):
        yield "has something else than an object under slurm_configurations"
    workers = document.get("worker_groups")
    if not isinstance(workers, list) or not all(map(_is_worker_group, workers)):
        yield "has no list of instance_group_name and partition_name under worker_groups"


def partitions_of(document: Document) -> dict[str, str]:
    """Return the partition of each group under worker_groups, by the group's name."""
    workers: list[dict[str, str]] = document["worker_groups"]
    return {each["instance_group_name"]: each["partition_name"] for each in workers}


def _is_worker_group(value: Any) -> bool:
    keys = ("instance_group_name", "partition_name")
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)
