"""All machines of one rehearsal, for the process that owns the rehearsal."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import threading
from typing import IO, TYPE_CHECKING, Self

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.enclosure import PATH, Enclosure
from slurmpod.rehearsal.nodes.enter import ENVIRONMENT, machine_command
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import MachinesFolder
from slurmpod.rehearsal.nodes.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from ipaddress import IPv4Address, IPv4Network
    from pathlib import Path

    from slurmpod.rehearsal.nodes.spec import MachineSpec

BOOTS_AT_ONCE = 8
"""More would only make each of them slower: a boot is bound by the processor."""


class Machines:
    """The machines of one rehearsal; all of them end when this process does, however it does.

    All methods may be called from several threads at once.
    """

    def __init__(
        self,
        folder: MachinesFolder,
        enclosure: Enclosure,
        *,
        image: Path,
        subnet: IPv4Network,
        gateway: IPv4Address,
    ) -> None:
        self._folder = folder
        self._enclosure = enclosure
        self._image = image
        self._subnet = subnet
        self._gateway = gateway
        self._machines: dict[str, Machine] = {}
        self._hosts = ["127.0.0.1 localhost\n"]
        self._lock = threading.Lock()
        self._boot_slots = threading.BoundedSemaphore(BOOTS_AT_ONCE)
        self._numbers = itertools.count()

    @classmethod
    def start(
        cls,
        directory: Path,
        *,
        image: Path,
        subnet: IPv4Network,
        gateway: IPv4Address,
        file_systems: Mapping[str, Path],
    ) -> Machines:
        """Make the network in which machines can be booted, for the rehearsal in `directory`.

        `image` is what `bake` made. `file_systems` are directories of this computer by what
        `mount -t lustre` calls them. Raises MachineFailed when the kernel or a tool refuses, or
        the directory was used before.
        """
        folder = MachinesFolder.claim(directory)
        try:
            enclosure = Enclosure.start(
                folder.path, cgroup=folder.cgroup, subnet=subnet, gateway=gateway
            )
            machines = cls(folder, enclosure, image=image, subnet=subnet, gateway=gateway)
            for source, shared in file_systems.items():
                machines.add_file_system(source, shared)
        except BaseException:
            folder.release()
            raise
        return machines

    def add_file_system(self, source: str, directory: Path) -> None:
        """Let all machines, also running ones, mount `directory` as Lustre's `source`.

        `source` is `<DNS name>@tcp:/<mount name>`; ValueError when it is not.
        """
        self._enclosure.add_file_system(source, directory)

    def boot(self, spec: MachineSpec) -> None:
        """Boot a machine; returns when its systemd has started everything.

        Raises MachineFailed with the end of its console log, or when one of that name runs.
        """
        machine = self._admit(spec)
        try:
            with self._boot_slots:
                machine.boot(
                    image=self._image,
                    address=f"{spec.address}/{self._subnet.prefixlen}",
                    gateway=str(self._gateway),
                )
        except BaseException:
            machine.power_off()
            raise
        self._announce_names()

    def power_cut(self, hostname: str) -> None:
        """End a machine as a power cut does: first the wire, then all processes; its disk is lost.

        Its name still resolves. `boot` may bring a new one of that name. Raises MachineFailed
        when there never was such a machine.
        """
        self._machine(hostname).power_off()

    def run(
        self,
        hostname: str,
        command: Sequence[str],
        *,
        user: str | None = None,
        stdin: bytes = b"",
        environment: Mapping[str, str] = ENVIRONMENT,
        cwd: str = "/",
        stdout: IO[bytes] | None = None,
        timeout_seconds: float,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command in a machine, without a terminal, and wait for it.

        Without `user` it is root with nothing but `environment`, as HyperPod's agent runs
        scripts; with one, also what a login gives. `stdout` takes both outputs when given, else
        both are in the result; give it when the command may leave something running. The return
        code is negative when a signal, such as that of a power cut, ended it.

        Raises MachineFailed when the machine does not run, and subprocess.TimeoutExpired after
        killing all that the command started.
        """
        machine = self._machine(hostname)
        cgroup = machine.cgroup / f"run-{next(self._numbers)}"
        argv = machine_command(
            machine.cgroup, cgroup, command, user=user, environment=environment, cwd=cwd
        )
        try:
            return subprocess.run(
                argv,
                check=False,
                input=stdin,
                stdout=stdout or subprocess.PIPE,
                stderr=subprocess.STDOUT if stdout else subprocess.PIPE,
                env={"PATH": PATH},
                timeout=timeout_seconds,
                start_new_session=True,
            )
        except BaseException:
            cgroups.kill(cgroup)
            raise
        finally:
            with contextlib.suppress(OSError):  # the command left something running, or all is gone
                cgroup.rmdir()

    def close(self) -> None:
        """End all machines and the network; may be repeated."""
        self._enclosure.close()
        self._folder.release()
        with self._lock:
            machines = list(self._machines.values())
        for machine in machines:
            machine.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _machine(self, hostname: str) -> Machine:
        try:
            return self._machines[hostname]
        except KeyError:
            raise MachineFailed(f"there is no machine {hostname}") from None

    def _admit(self, spec: MachineSpec) -> Machine:
        """Register a machine that is about to boot, and announce its name."""
        with self._lock:
            predecessor = self._machines.get(spec.hostname)
            if predecessor is not None:
                if not predecessor.is_over:
                    raise MachineFailed(f"{spec.hostname} is running already")
                predecessor.power_off()  # it may have shut itself down: clear what that left
            hosts_line = f"{spec.address} {spec.hostname}\n"
            if hosts_line not in self._hosts:
                self._hosts.append(hosts_line)
            machine = Machine(
                spec,
                hosts=self._hosts,
                directory=self._folder.path / spec.hostname,
                cgroup=self._folder.cgroup / spec.hostname,
                enclosure=self._enclosure,
                port=f"port{next(self._numbers)}",
            )
            self._machines[spec.hostname] = machine
        self._announce_names()
        return machine

    def _announce_names(self) -> None:
        with self._lock:
            for machine in self._machines.values():
                machine.update_hosts(self._hosts)
