"""The node's identity: the instance whose customer address is one of the node's addresses.

All addresses are compared, because an instance with EFA has many interfaces. There is no guess and
no fallback: a node with the wrong identity would damage the cluster.
"""

from __future__ import annotations

import json

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Instance, Node, read_instances
from slurmpod_lifecycle.settings import Role, Settings
from slurmpod_lifecycle.step import NotYet, Step, StepFailed


class Identify(Step):
    """The first step of every node; its result is `node`."""

    name = "identify"

    def __init__(self, settings: Settings, machine: Machine, resource_config_path: str) -> None:
        self._settings = settings
        self._machine = machine
        self._path = resource_config_path
        self.node: Node | None = None

    def apply(self) -> str:
        """Find this node in the platform's list; see `find_self` for the possible failures."""
        addresses = addresses_in(self._machine.run("ip", "-json", "-4", "address", "show"))
        instance = find_self(read_instances(self._machine, self._path), addresses, self._path)
        role = role_of(instance, self._settings)
        self.node = Node(self._settings, self._machine, instance, role, self._path)
        return f"{role.value} {self.node.name}, instance {instance.id} of group {instance.group}"


def addresses_in(ip_output: str) -> frozenset[str]:
    """Return the node's own IPv4 addresses, from the output of `ip -json address`."""
    return frozenset(
        address["local"]
        for interface in json.loads(ip_output)
        for address in interface.get("addr_info", [])
        if address.get("scope") == "global"
    )


def find_self(
    instances: tuple[Instance, ...], own_addresses: frozenset[str], path: str
) -> Instance:
    """Return the instance that has one of `own_addresses`; raises NotYet while none has.

    Raises StepFailed if two have one, as either choice could be wrong.
    """
    found = [instance for instance in instances if instance.address in own_addresses]
    own = ", ".join(sorted(own_addresses)) or "no address at all"
    if not found:
        reason = (
            f"none of the {len(instances)} instances in {path} has this node's CustomerIpAddress"
            f" (this node has {own})"
        )
        raise NotYet(reason, "replace the node; HyperPod did not list it")
    if len(found) > 1:
        names = " and ".join(f"{instance.group}/{instance.id}" for instance in found)
        raise StepFailed(f"{path} gives this node's addresses ({own}) to {names}", "replace it")
    return found[0]


def role_of(instance: Instance, settings: Settings) -> Role:
    """Return the role of the instance's group; raises StepFailed for an unknown group."""
    role = settings.roles.get(instance.group)
    if role is None:
        raise StepFailed(
            f"the instance group '{instance.group}' is not in settings.json,"
            f" which knows {', '.join(sorted(settings.roles))}",
            "deploy again, so that cluster and scripts come from the same environment",
        )
    return role
