"""Members of a request: those with a value, and Slurm's where HyperPod sets it up."""

from __future__ import annotations

from typing import Any

from slurmpod.resolve import Resolved

Request = dict[str, Any]


def given(**members: Any) -> Request:
    """Return the members that have a value; the API has no null."""
    return {name: value for name, value in members.items() if value is not None}


def is_configured_by_api(resolved: Resolved) -> bool:
    """Tell whether HyperPod sets up Slurm itself, from the request.

    In customer mode provisioning_parameters.json says the same, and may not say it twice.
    """
    return resolved.lifecycle.mode != "customer"
