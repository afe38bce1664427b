"""`python3 -m slurmpod_lifecycle.lnet_over_efa ADDRESS TYPE`: Lustre's client over EFA beside TCP.

LNet, the network of Lustre, forgets its interfaces at every boot. What is done here is what FSx
describes ("Configuring EFA clients" in the FSx for Lustre user guide): both networks, several EFA
interfaces, and EFA first. Interfaces that are there stay: a file system may be mounted over them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.step import StepFailed

DEVICES = "/sys/class/infiniband"
PEER_CREDITS = "32"

INTERFACES = {
    "p6-b300.48xlarge": 16,
    "p6e-gb200.36xlarge": 8,
    "p6-b200.48xlarge": 8,
    "p5en.48xlarge": 8,
    "p5e.48xlarge": 8,
    "p5.48xlarge": 8,
}
"""How many interfaces FSx's own set-up uses; a file system has 1024 connections for all clients."""

INTERFACES_OF_OTHERS = 2

FIX = "run 'lnetctl net show' and 'dmesg' on the node"


def main(machine: Machine, address: str, instance_type: str) -> int:
    """Configure LNet and return the exit status; the last line says why not."""
    try:
        sys.stdout.write(f"{configure(machine, address, instance_type)}\n")
    except StepFailed as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def configure(machine: Machine, address: str, instance_type: str) -> str:
    """Add what LNet lacks and say how many EFA interfaces it has; may be repeated.

    `address` is the node's own in the VPC: TCP goes over its interface. Raises StepFailed when an
    interface does not come up.
    """
    devices = chosen(efa_devices(machine), instance_type)
    if not devices:
        raise StepFailed("this node has no EFA device", "look at 'lspci' and 'lsmod' on the node")
    interface = machine.run("ip", "-brief", "-4", "address", "show", "to", address).split()[0]
    machine.run("modprobe", "lnet")
    machine.run("modprobe", "kefalnd", f"ipif_name={interface}")
    machine.run("modprobe", "ksocklnd")
    machine.succeeds("lnetctl", "lnet", "configure")  # refuses when it is
    present = machine.run("lnetctl", "net", "show")
    if "@tcp" not in present:
        machine.run("lnetctl", "net", "add", "--net", "tcp", "--if", interface)
    for device in devices:
        if not re.search(rf"\b{re.escape(device)}\s*$", present, re.MULTILINE):
            added = ("--net", "efa", "--if", device, "--peer-credits", PEER_CREDITS)
            machine.run("lnetctl", "net", "add", *added)
    _prefer_efa(machine)
    machine.run("modprobe", "lustre")
    return _check(machine, len(devices))


def chosen(devices: Sequence[str], instance_type: str) -> list[str]:
    """Return the devices that Lustre uses: as many as FSx says, spread over the PCI buses."""
    in_order = sorted(devices, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    count = min(INTERFACES.get(instance_type, INTERFACES_OF_OTHERS), len(in_order))
    return [in_order[index * len(in_order) // count] for index in range(count)]


def efa_devices(machine: Machine) -> list[str]:
    """Return the RDMA devices whose driver is EFA's."""
    names = machine.run("ls", DEVICES).split() if machine.succeeds("test", "-d", DEVICES) else []
    return [name for name in names if _driver(machine, name) == "efa"]


def _driver(machine: Machine, device: str) -> str:
    link = f"{DEVICES}/{device}/device/driver"
    return machine.run("readlink", "--canonicalize", link).strip().rpartition("/")[2]


def _prefer_efa(machine: Machine) -> None:
    machine.run("lnetctl", "set", "discovery", "1")
    if "efa" not in machine.run("lnetctl", "udsp", "show"):
        machine.run("lnetctl", "udsp", "add", "--src", "efa", "--priority", "0")


def _check(machine: Machine, wanted: int) -> str:
    up = machine.run("lnetctl", "net", "show", "--net", "efa").count("status: up")
    if up < wanted:
        raise StepFailed(f"{up} of {wanted} EFA interfaces of LNet are up", FIX)
    return f"Lustre has {up} EFA interfaces"


if __name__ == "__main__":
    sys.exit(main(Machine(), *sys.argv[1:]))
