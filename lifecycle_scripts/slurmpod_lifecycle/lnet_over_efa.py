"""`python3 -m slurmpod_lifecycle.lnet_over_efa ADDRESS TYPE`: Lustre's client over EFA and TCP.

LNet, the network of Lustre, loses its interfaces at every boot. The steps follow FSx ("Configuring
EFA clients" in the FSx for Lustre user guide): both networks, several EFA interfaces, and EFA
preferred. Existing interfaces stay: a file system may be mounted over them.
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
"""The number of interfaces in FSx's own setup; a file system has 1024 connections for all
clients."""

INTERFACES_OF_OTHERS = 2

FIX = "run 'lnetctl net show' and 'dmesg' on the node"


def main(machine: Machine, address: str, instance_type: str) -> int:
    """Configure LNet and return the exit status; if it fails, the last line says why."""
    try:
        sys.stdout.write(f"{configure(machine, address, instance_type)}\n")
    except StepFailed as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def configure(machine: Machine, address: str, instance_type: str) -> str:
    """Add what LNet lacks and return a message with its EFA interfaces; safe to repeat.

    `address` is the node's own in the VPC: TCP uses its interface. Raises StepFailed if an
    interface does not come up.
    """
    devices = chosen(efa_devices(machine), instance_type)
    if not devices:
        raise StepFailed("this node has no EFA device", "look at 'lspci' and 'lsmod' on the node")
    interface = machine.run("ip", "-brief", "-4", "address", "show", "to", address).split()[0]
    machine.run("modprobe", "lnet")
    machine.run("modprobe", "kefalnd", f"ipif_name={interface}")
    machine.run("modprobe", "ksocklnd")
    machine.succeeds("lnetctl", "lnet", "configure")  # fails if it is loaded already
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
    """Return the devices for Lustre: FSx's number of them, spread over the PCI buses."""
    in_order = sorted(devices, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    count = min(INTERFACES.get(instance_type, INTERFACES_OF_OTHERS), len(in_order))
    return [in_order[index * len(in_order) // count] for index in range(count)]


def efa_devices(machine: Machine) -> list[str]:
    """Return the RDMA devices with the EFA driver."""
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
