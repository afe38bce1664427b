"""What a step knows: this node, its place in the cluster, and the steps' common form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from slurmpod_lifecycle.failures import NotYet
from slurmpod_lifecycle.resource_config import read_instances
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import Step

if TYPE_CHECKING:
    from slurmpod_lifecycle.machine import Machine
    from slurmpod_lifecycle.resource_config import Instance
    from slurmpod_lifecycle.settings import Settings


@dataclass(frozen=True)
class Node:
    """This node: the cluster's settings, the node's instance and role, and the machine itself."""

    settings: Settings
    machine: Machine
    instance: Instance
    role: Role
    resource_config_path: str

    @property
    def name(self) -> str:
        """The node's name in Slurm: HyperPod makes it from the customer address."""
        return "ip-" + self.instance.address.replace(".", "-")

    def controller_address(self) -> str:
        """Return the customer address of the controller; raises NotYet until it is listed."""
        for instance in read_instances(self.machine, self.resource_config_path):
            if self.settings.roles.get(instance.group) is Role.CONTROLLER:
                return instance.address
        raise NotYet(
            f"{self.resource_config_path} lists no instance of the controller's group",
            "look at the controller's events and logs: it has to be up first",
        )


class NodeStep(Step):
    """A step for the nodes of some roles."""

    roles: ClassVar[frozenset[Role]]

    def __init__(self, node: Node) -> None:
        self.node = node

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Tell whether `node` needs this step."""
        return node.role in cls.roles
