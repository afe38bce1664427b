"""Specification of a machine before it boots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface

_HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class File:
    """A file that a machine starts with; owner and group are names that the image knows."""

    content: bytes
    mode: int = 0o600
    owner: str = "root"


@dataclass(frozen=True)
class MachineSpec:
    """One machine: its host name, its address with its subnet, and what lies on its disk at boot.

    `files` are by absolute path. `accelerators` is how many device files `/dev/<kind>0`... there
    are; nothing stands behind them, but Slurm counts them. `aliases` are further names by which
    other machines find it, such as DNS names. `interface` is the name of the network interface.
    Raises ValueError for a host name that could not be one, or a relative path.
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
        """The interface's own address, made from the other: so a replaced node is found at once."""
        return ":".join(f"{byte:02x}" for byte in (2, 0, *self.address.ip.packed))

    @property
    def hosts_line(self) -> str:
        """What /etc/hosts of every machine says about this one."""
        return " ".join((str(self.address.ip), self.hostname, *self.aliases)) + "\n"

    def __post_init__(self) -> None:
        if not _HOSTNAME.fullmatch(self.hostname):
            raise ValueError(f"{self.hostname!r} is not a host name")
        relative = sorted(path for path in self.files if not path.startswith("/"))
        if relative:
            raise ValueError(f"paths in a machine must be absolute: {', '.join(relative)}")
