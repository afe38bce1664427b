"""All machines of one network of a rehearsal, for the process that owns the rehearsal."""

from __future__ import annotations

import contextlib
import itertools
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.enter import ENVIRONMENT, machine_command
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import MachinesFolder
from slurmpod.rehearsal.nodes.machine import Machine
from slurmpod.rehearsal.nodes.sandbox import PATH, Sandbox
from slurmpod.rehearsal.nodes.spec import MachineSpec

LOOPBACK = ("localhost", "127.0.0.1")

BOOTS_AT_ONCE = 8
"""More boots at once would only make each slower: a boot is CPU-bound."""


class Machines:
    """The machines of one network; all of them end with this process, however it ends.

    All methods may be called from several threads at once.
    """

    _boot_slots = threading.BoundedSemaphore(BOOTS_AT_ONCE)  # shared by all networks

    def __init__(self, folder: MachinesFolder, sandbox: Sandbox, *, image: Path) -> None:
        self._folder = folder
        self._sandbox = sandbox
        self._image = image
        self._machines: dict[str, Machine] = {}
        self._file_systems: dict[str, Path] = {}
        self._allowed: list[tuple[str, int]] = []
        self._hosts = ["127.0.0.1 localhost\n"]
        self._lock = threading.Lock()
        self._is_closed = False
        self._numbers = itertools.count()

    @classmethod
    def start(cls, directory: Path, *, image: Path, file_systems: Mapping[str, Path]) -> Machines:
        """Create the network for machines of the rehearsal in `directory`.

        `image` is the result of `bake`. `file_systems` maps the source that `mount` names to a
        directory of this computer. Raises MachineFailed if the kernel or a tool fails, or the
        directory was used before.
        """
        folder = MachinesFolder.claim(directory)
        try:
            sandbox = Sandbox.start(folder.path, cgroup=folder.cgroup)
            machines = cls(folder, sandbox, image=image)
            for source, shared in file_systems.items():
                machines.add_file_system(source, shared)
        except BaseException:
            folder.release()
            raise
        return machines

    def beside(self, directory: Path) -> Machines:
        """Create another, isolated network, whose machines may have the same names.

        It has the same image, and the current file systems and allowed hosts. Raises the same
        exceptions as `start` and `allow`.
        """
        with self._lock:
            file_systems, allowed = dict(self._file_systems), list(self._allowed)
        beside = Machines.start(directory, image=self._image, file_systems=file_systems)
        try:
            for host, port in allowed:
                beside.allow(host, port)
        except BaseException:
            beside.close()
            raise
        return beside

    def add_file_system(self, source: str, directory: Path) -> None:
        """Let all machines, including running ones, mount `directory` as `source`.

        The source is `<DNS name>@tcp:/<mount name>` for Lustre or `<DNS name>:/<export>` for NFS;
        otherwise raises ValueError. A known source keeps its directory.
        """
        self._sandbox.add_file_system(source, directory)
        with self._lock:
            self._file_systems.setdefault(source, directory)

    def open_door(self, port: int, *, inside: int | None = None) -> str:
        """Give machines access to a port of this computer's loopback; return its address for them.

        The port number stays the same unless `inside` is given. Raises MachineFailed or OSError if
        the kernel fails.
        """
        return self._sandbox.open_door(port, inside=inside)

    def allow(self, host: str, port: int) -> str:
        """Give machines access to a port of one host under its name; return its address for them.

        This computer's own ports use the router's address: machines have their own loopback.
        Raises MachineFailed or OSError if the kernel fails.
        """
        with self._lock:
            self._allowed.append((host, port))
        if host in LOOPBACK:
            return self.open_door(port)
        address = self._sandbox.let_out(host, port)
        with self._lock:
            line = f"{address} {host}\n"
            if line not in self._hosts:
                self._hosts.append(line)
        self._announce_names()
        return f"{host}:{port}"

    def listen(self, address: str, port: int) -> socket.socket:
        """Return a socket that listens at an address that all machines reach.

        Raises MachineFailed or OSError if the kernel fails.
        """
        return self._sandbox.listen(address, port)

    def boot(self, spec: MachineSpec, image: Path | None = None) -> None:
        """Boot a machine; return when its systemd has started everything.

        `image` overrides the network's image.

        Raises MachineFailed with the end of its console log, or if one of that name runs.
        """
        machine, predecessor = self._admit(spec)
        try:
            if predecessor is not None:
                predecessor.power_off()  # it may have shut itself down: clean up
            self._announce_names()
            self._sandbox.add_subnet(spec.address.network)
            with self._boot_slots:
                machine.boot(image or self._image)
        except BaseException:
            machine.power_off()
            raise
        self._announce_names()

    def reboot(self, hostname: str) -> None:
        """Shut a machine down and boot it again from its own disk; return as `boot` does.

        Raises MachineFailed if there is no such machine, its power was cut, or it does not come
        back; then it is off.
        """
        machine = self._machine(hostname)
        try:
            with self._boot_slots:
                machine.reboot()
        except BaseException:
            machine.power_off()
            raise
        self._announce_names()

    def power_cut(self, hostname: str) -> None:
        """End a machine as a power cut does: disconnect it, kill all processes and lose its disk.

        Its name still resolves. `boot` may start a new machine of that name. Raises MachineFailed
        if there never was such a machine.
        """
        self._machine(hostname).power_off()

    @property
    def is_closed(self) -> bool:
        """Whether the rehearsal has ended; then nothing runs and nothing boots."""
        return self._is_closed

    def is_off(self, hostname: str) -> bool:
        """Return whether a machine has ended, by a power cut or by itself, or never existed."""
        machine = self._machines.get(hostname)
        return machine is None or machine.is_over

    def wants_reboot(self, hostname: str) -> bool:
        """Return whether a machine is off because of a reboot request from inside."""
        return hostname in self._machines and self._machines[hostname].wants_reboot

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

        Without `user`, it runs as root with only `environment`, as HyperPod's agent runs scripts;
        with one, it also gets the login's environment. `stdout` receives both outputs if given,
        else both are in the result; pass it if the command may leave processes running. The return
        code is negative if a signal, such as that of a power cut, ended it.

        Raises MachineFailed if the machine does not run, and subprocess.TimeoutExpired after
        killing everything that the command started.
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
            with contextlib.suppress(OSError):  # processes are still running, or all are gone
                cgroup.rmdir()

    def close(self) -> None:
        """End all machines and the network; may be repeated."""
        self._is_closed = True
        self._sandbox.close()
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

    def _admit(self, spec: MachineSpec) -> tuple[Machine, Machine | None]:
        """Register a machine that is about to boot; return it and the last one of its name."""
        with self._lock:
            predecessor = self._machines.get(spec.hostname)
            if predecessor is not None and not predecessor.is_over:
                raise MachineFailed(f"{spec.hostname} is already running")
            if spec.hosts_line not in self._hosts:
                self._hosts.append(spec.hosts_line)
            machine = Machine(
                spec,
                hosts=self._hosts,
                directory=self._folder.path / spec.hostname,
                cgroup=self._folder.cgroup / spec.hostname,
                sandbox=self._sandbox,
                port=f"port{next(self._numbers)}",
            )
            self._machines[spec.hostname] = machine
        return machine, predecessor

    def _announce_names(self) -> None:
        with self._lock:
            for machine in self._machines.values():
                machine.update_hosts(self._hosts)
