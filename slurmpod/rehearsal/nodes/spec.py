"""Specification of a machine before it boots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface

_HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class File:
    """A file that a machine starts with; owner and group are names known in the image."""

    content: bytes
    mode: int = 0o600
    owner: str = "root"


@dataclass(frozen=True)
class MachineSpec:
    """One machine: its host name, its address with its subnet, and the files on its disk at boot.

    `files` are keyed by absolute path. `accelerators` is the number of device files
    `/dev/<kind>0`...; they have no driver, but Slurm counts them. `aliases` are further names, such
    as DNS names, by which other machines find it. `interface` is the name of the network interface.
    Raises ValueError for an invalid host name or a relative path.
    """

    hostname: str
    address: IPv4Interface
    files: Mapping[str, File] = field(default_factory=dict)
    accelerators: int = 0
    accelerator_kind: str = "nvidia"
    aliases: tuple[str, ...] = ()
    interface: str = "eth0"

    @property
    def gateway(self) -> IPv4Address:
        """The subnet's router, which has its first address (VPC user guide)."""
        return self.address.network[1]

    @property
    def hardware_address(self) -> str:
        """The interface's MAC address, derived from its IP: peers find a replaced node at once."""
        return ":".join(f"{byte:02x}" for byte in (2, 0, *self.address.ip.packed))

    @property
    def hosts_line(self) -> str:
        """The line about this machine in /etc/hosts of every machine."""
        return " ".join((str(self.address.ip), self.hostname, *self.aliases)) + "\n"

    def __post_init__(self) -> None:
        if not _HOSTNAME.fullmatch(self.hostname):
            raise ValueError(f"{self.hostname!r} is not a host name")
        relative = sorted(path for path in self.files if not path.startswith("/"))
        if relative:
            raise ValueError(f"paths in a machine must be absolute: {', '.join(relative)}")
