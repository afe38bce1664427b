"""The networks of a rehearsal: one per VPC with clusters or RDS servers.

Machines of one network never reach those of another, which may have the same addresses and names.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from slurmpod.rehearsal.nodes.folder import enroll, further_network, withdraw
from slurmpod.rehearsal.nodes.machines import Machines


@dataclass(eq=False)
class Network:
    """The network of a VPC, with its folder; `users` own the machines in it."""

    machines: Machines
    folder: Path
    vpc_id: str = ""
    users: set[str] = field(default_factory=set)


class Networks:
    """All networks of the rehearsal in `folder`; thread-safe.

    `first` are the machines of the first one; a rehearsal with one VPC needs no other.
    `connect` gives the machines of each further one access to AWS.
    """

    def __init__(self, first: Machines, folder: Path, connect: Callable[[Machines], None]) -> None:
        self._connect = connect
        self._networks = [Network(first, folder)]
        self._lock = threading.Lock()

    @property
    def first(self) -> Network:
        """The initial network."""
        return self._networks[0]

    def take(self, vpc_id: str, user: str) -> Network:
        """Return the network of a VPC for machines of `user`, until that user leaves it.

        An unused network is given to the next VPC. Raises MachineFailed or OSError if the kernel
        fails to create another one.
        """
        with self._lock:
            network = self._used_by(vpc_id) or self._unused() or self._add()
            network.vpc_id = vpc_id
            network.users.add(user)
            enroll(network.folder, user)
        return network

    def leave(self, user: str) -> None:
        """Release a user's network; all its machines are off. It need not have taken one."""
        with self._lock:
            for network in self._networks:
                network.users.discard(user)
                withdraw(network.folder, user)

    def add_file_system(self, source: str, directory: Path) -> None:
        """Let the machines of all networks mount `directory` as `source`, as Machines does."""
        with self._lock:
            for network in self._networks:
                network.machines.add_file_system(source, directory)

    def _used_by(self, vpc_id: str) -> Network | None:
        used = (network for network in self._networks if network.users)
        return next((network for network in used if network.vpc_id == vpc_id), None)

    def _unused(self) -> Network | None:
        return next((network for network in self._networks if not network.users), None)

    def _add(self) -> Network:
        first = self.first
        folder = further_network(first.folder, len(self._networks) + 1)
        machines = first.machines.beside(folder)
        try:
            self._connect(machines)
        except BaseException:
            machines.close()
            raise
        self._networks.append(Network(machines, folder))
        return self._networks[-1]
