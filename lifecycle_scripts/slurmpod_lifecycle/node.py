"""What a step knows: this node and its place in the cluster; and the steps' common interface.

The cluster's instances come from HyperPod's own list, /opt/ml/config/resource_config.json. The
platform writes it before the scripts run and again when nodes come and go. On a node it may be
late, incomplete for a moment, or out of date about other nodes; `Instances` of a group may be null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import Hardware, Mode, Role, Settings
from slurmpod_lifecycle.step import NotYet, Step

RESOURCE_CONFIG = "/opt/ml/config/resource_config.json"

PRODUCT_NAME = "/sys/devices/virtual/dmi/id/product_name"
"""The kernel's file with the type of an EC2 instance (`p5.48xlarge`)."""


@dataclass(frozen=True)
class Instance:
    """One instance of the cluster; `address` is the one in the customer's subnet."""

    group: str
    name: str
    id: str
    address: str


def resource_config_path(environment: Mapping[str, str]) -> str:
    """Return the path of the platform's file, from its own setting or the usual one."""
    return environment.get("SAGEMAKER_RESOURCE_CONFIG_PATH") or RESOURCE_CONFIG


def read_instances(machine: Machine, path: str) -> tuple[Instance, ...]:
    """Return all instances that the platform lists; raises NotYet for a missing or partial file."""
    text = machine.read(path)
    if text is None:
        raise NotYet(f"{path} does not exist", "HyperPod writes it: replace the node")
    try:
        return instances_of(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{path} is not a resource configuration: {error!r}"
        raise NotYet(reason, "HyperPod writes it: replace the node") from None


def instances_of(data: dict[str, Any]) -> tuple[Instance, ...]:
    """Return the instances in the parsed file that have an address already."""
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


@dataclass(frozen=True)
class Node:
    """This node: the cluster's settings, the node's instance and role, and the machine."""

    settings: Settings
    machine: Machine
    instance: Instance
    role: Role
    resource_config_path: str

    @property
    def name(self) -> str:
        """The node's name in Slurm, which HyperPod derives from the customer address."""
        return slurm_name(self.instance.address)

    @property
    def hardware(self) -> Hardware | None:
        """The node's hardware, or None for a type that the catalog does not have.

        In a group with flexible capacity the type comes from the firmware, where EC2 writes it.
        """
        options = self.settings.node
        types = options.instance_types.get(self.instance.group, ())
        if len(types) != 1:
            product = (self.machine.read(PRODUCT_NAME) or "").strip()
            types = (f"ml.{product}",)
        return options.hardware.get(types[0])

    def controller_addresses(self) -> tuple[str, ...]:
        """Return the customer addresses of the controllers, in the same order on every node.

        Raises NotYet until all of them are listed.
        """
        listed = [
            instance
            for instance in read_instances(self.machine, self.resource_config_path)
            if self.settings.roles.get(instance.group) is Role.CONTROLLER
        ]
        wanted = self.settings.multi_head.controllers if self.settings.multi_head else 1
        if len(listed) < wanted:
            raise NotYet(
                f"{self.resource_config_path} lists {len(listed)} of {wanted} instances of the"
                " controller's group",
                "look at the controller's events and logs: it has to be up first",
            )
        in_order = sorted(listed, key=lambda instance: (len(instance.name), instance.name))
        return tuple(instance.address for instance in in_order)


def slurm_name(address: str) -> str:
    """Return HyperPod's name for the node with a customer address."""
    return "ip-" + address.replace(".", "-")


class NodeStep(Step):
    """A step for nodes with certain roles and modes."""

    roles: ClassVar[frozenset[Role]]
    modes: ClassVar[frozenset[Mode]] = frozenset(Mode)

    def __init__(self, node: Node) -> None:
        self.node = node

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether `node` needs this step."""
        return node.role in cls.roles and node.settings.mode in cls.modes

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return the contents of the step's files once it is off, by path; None for no file.

        `switched_off` applies them in this order. Only our own contents may be removed.
        """
        del machine
        return {}
