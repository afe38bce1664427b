"""HyperPod's own list of the cluster's instances: /opt/ml/config/resource_config.json.

The platform writes it before the scripts run and again when nodes come and go. On a node it may
be late, a moment incomplete, or stale about other nodes; `Instances` of a group may be null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod_lifecycle.failures import NotYet
from slurmpod_lifecycle.machine import Machine

DEFAULT_PATH = "/opt/ml/config/resource_config.json"


@dataclass(frozen=True)
class Instance:
    """One instance of the cluster; `address` is the one in the customer's subnet."""

    group: str
    name: str
    id: str
    address: str


def path_of(environment: Mapping[str, str]) -> str:
    """Return where the platform says that its file lies, or where it usually does."""
    return environment.get("SAGEMAKER_RESOURCE_CONFIG_PATH") or DEFAULT_PATH


def read_instances(machine: Machine, path: str) -> tuple[Instance, ...]:
    """Return all instances that the platform lists; raises NotYet for no file or half a file."""
    text = machine.read(path)
    if text is None:
        raise NotYet(f"{path} does not exist", "HyperPod writes it: replace the node")
    try:
        return instances_of(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{path} is not a resource configuration: {error!r}"
        raise NotYet(reason, "HyperPod writes it: replace the node") from None


def instances_of(data: dict[str, Any]) -> tuple[Instance, ...]:
    """Return the instances in the parsed file that already have an address."""
    return tuple(
        Instance(
            group=group["Name"],
            name=instance.get("InstanceName") or "",
            id=instance.get("InstanceId") or "",
            address=instance["CustomerIpAddress"],
        )
        for group in data.get("InstanceGroups") or []
        for instance in group.get("Instances") or []
        if instance.get("CustomerIpAddress")
    )
