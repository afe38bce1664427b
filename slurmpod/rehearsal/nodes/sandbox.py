"""The sandbox: the mount, network and pid namespaces that hold all machines of one rehearsal.

Its lifetime is its owner's. `sandbox.sh` waits on a socket that only the owner holds open, so the
kernel cleans everything up when the owner closes it, crashes or is killed. (PR_SET_PDEATHSIG
would not do: it fires when the *thread* that started the process ends.)
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network
from pathlib import Path

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.errors import MachineFailed

_PAUSE_SECONDS = 0.2
"""The delay after a failed accept, for example for lack of file descriptors."""


class Listener:
    """Passes each connection to `answer`, which has to close it."""

    def __init__(
        self, listening: socket.socket, answer: Callable[[socket.socket], None], *, name: str
    ) -> None:
        self._socket = listening
        self._answer = answer
        self._is_closed = threading.Event()
        threading.Thread(target=self._accept, name=name, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections; may be repeated."""
        self._is_closed.set()
        with contextlib.suppress(OSError):  # wakes the waiting thread, unless already closed
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while not self._is_closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                self._is_closed.wait(_PAUSE_SECONDS)
                continue
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()


_CLONE_NEWNET = 0x40000000
_CHUNK_BYTES = 65536


class Door:
    """Forwards connections to `address` in the namespace to a port of `host`.

    A socket belongs to the network namespace of the thread that creates it, whichever thread uses
    it: so this process listens inside the sandbox and connects outside, and opens no network.

    `inside` is the port in the namespace.
    """

    def __init__(
        self, namespace: Path, address: str, port: int, *, inside: int, host: str = "127.0.0.1"
    ) -> None:
        self._target = (host, port)
        listening = _listen(namespace, address, inside)
        self._listener = Listener(listening, self._connect, name=f"door-{port}")

    def close(self) -> None:
        """Accept no more connections; may be repeated."""
        self._listener.close()

    def _connect(self, inside: socket.socket) -> None:
        with (
            inside,
            contextlib.suppress(OSError),
            socket.create_connection(self._target) as outside,
        ):
            back = threading.Thread(target=_copy, args=(outside, inside), daemon=True)
            back.start()
            _copy(inside, outside)
            back.join()


def _listen(namespace: Path, address: str, port: int) -> socket.socket:
    made: list[socket.socket | OSError] = []

    def listen() -> None:  # in a short-lived thread: no other changes its namespace
        try:
            with namespace.open() as file:
                _enter(file.fileno())
            made.append(socket.create_server((address, port)))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy data until the end of the source, and pass on the end."""
    with contextlib.suppress(OSError):  # one of the two is gone
        while chunk := source.recv(_CHUNK_BYTES):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


BRIDGE = "subnet"
"""The network interface in the sandbox that acts as all subnets' switches and routers."""

GATEWAY_ADDRESS = "169.254.100.1"
"""The address at which machines of all subnets reach services of this computer."""

OUTSIDE = IPv4Network("169.254.101.0/24")
"""The addresses that represent the allowed hosts in machines."""

_SCRIPT = Path(__file__).with_name("sandbox.sh")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Sandbox:
    """One running sandbox; created by `start`, ended by `close` or by the end of this process."""

    def __init__(
        self, process: subprocess.Popen[bytes], lifeline: socket.socket, file_systems: Path
    ) -> None:
        self._process = process
        self._lifeline = lifeline
        self._file_systems = file_systems
        self._lock = threading.Lock()
        self._subnets: set[IPv4Network] = set()
        self._mounted: set[Path] = set()
        self._doors: list[Door] = []
        self._has_door = False
        self._outside: dict[str, str] = {}

    @classmethod
    def start(cls, directory: Path, *, cgroup: Path) -> Sandbox:
        """Create the namespaces and the network; `directory` gets the log and the mount point.

        Raises MachineFailed with the message of the kernel or a tool.
        """
        file_systems = directory / "file-systems"
        file_systems.mkdir()
        log_path = directory / "sandbox.log"
        lifeline, far_end = socket.socketpair()
        with far_end, log_path.open("wb") as log:
            process = subprocess.Popen(
                cgroups.joined(
                    cgroup, [*cgroups.IGNORING_NO_SIGNAL, *_unshare(["sh", str(_SCRIPT)])]
                ),
                env={
                    "PATH": PATH,
                    "BRIDGE": BRIDGE,
                    "FILE_SYSTEMS": str(file_systems),
                },
                stdin=far_end.fileno(),
                stdout=far_end.fileno(),
                stderr=log,
                start_new_session=True,
            )
        sandbox = cls(process, lifeline, file_systems)
        if lifeline.recv(16) == b"ready\n":
            return sandbox
        sandbox.close()
        raise MachineFailed(f"cannot create the machines' namespaces: {log_path.read_text()}")

    @property
    def file_systems(self) -> Path:
        """The mount point of the shared file systems inside the sandbox."""
        return self._file_systems

    @property
    def _namespace(self) -> Path:
        return Path(f"/proc/{self._process.pid}/ns/net")

    def command(self, command: Sequence[str]) -> list[str]:
        """Return `command` wrapped so that a process of the host runs it inside.

        Raises MachineFailed if the sandbox has ended: another process may have its pid.
        """
        if self._process.poll() is not None:
            raise MachineFailed("the network of the machines is closed")
        namespaces = f"/proc/{self._process.pid}/ns"
        return [
            "nsenter",
            f"--mount={namespaces}/mnt",
            f"--net={namespaces}/net",
            f"--pid={namespaces}/pid_for_children",
            "--",
            *command,
        ]

    def run(self, command: Sequence[str]) -> None:
        """Run a short command inside; raises MachineFailed with its output if it fails."""
        result = subprocess.run(
            self.command(command),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            start_new_session=True,
        )
        if result.returncode:
            raise MachineFailed(f"{' '.join(command)}: {result.stderr.strip()}")

    def add_subnet(self, subnet: IPv4Network) -> None:
        """Give the bridge the router's address in a subnet, to route to all other subnets."""
        with self._lock:
            if subnet not in self._subnets:
                router = f"{subnet[1]}/{subnet.prefixlen}"
                self.run(["ip", "address", "add", router, "dev", BRIDGE])
                self._subnets.add(subnet)

    def add_file_system(self, source: str, directory: Path) -> None:
        """Make `directory` the target of `mount <source>` in all machines, immediately.

        A known source keeps its directory. Raises ValueError if `source` is neither a Lustre nor
        an NFS source.
        """
        mount_point = self._file_systems / mount_folder(source)
        with self._lock:
            if mount_point not in self._mounted:
                self.run(["mkdir", "-p", str(mount_point)])
                self.run(["mount", "--bind", str(directory), str(mount_point)])
                self._mounted.add(mount_point)

    def open_door(self, port: int, *, inside: int | None = None) -> str:
        """Give machines access to a port of this computer's loopback; return its address for them.

        The port number stays the same unless `inside` is given.
        """
        inside = inside or port
        with self._lock:
            if not self._has_door:
                self.run(["ip", "address", "add", f"{GATEWAY_ADDRESS}/32", "dev", BRIDGE])
                self._has_door = True
            self._doors.append(Door(self._namespace, GATEWAY_ADDRESS, port, inside=inside))
        return f"{GATEWAY_ADDRESS}:{inside}"

    def let_out(self, host: str, port: int) -> str:
        """Give machines access to a port of a host; return the address that represents it."""
        with self._lock:
            if host not in self._outside:
                address = str(OUTSIDE[len(self._outside) + 1])
                self.run(["ip", "address", "add", f"{address}/32", "dev", BRIDGE])
                self._outside[host] = address
            address = self._outside[host]
            self._doors.append(Door(self._namespace, address, port, inside=port, host=host))
        return address

    def listen(self, address: str, port: int) -> socket.socket:
        """Return a socket that listens at an address of the router, for machines only."""
        self.run(["ip", "address", "add", f"{address}/32", "dev", BRIDGE])
        return _listen(self._namespace, address, port)

    def close(self) -> None:
        """End the sandbox and all its processes; return when it is gone."""
        for door in self._doors:
            door.close()
        self._lifeline.close()
        self._process.wait()


def mount_folder(source: str) -> Path:
    """Return the relative folder of a file system: `lustre/<DNS name>/<mount name>` or `nfs/...`.

    `source` is `<DNS name>@tcp:/<mount name>` or `<DNS name>:/<export>`; ValueError otherwise.
    """
    server, separator, name = source.partition(":/")
    dns_name = server.removesuffix("@tcp")
    if not (dns_name and separator and name) or "/" in dns_name + name:
        raise ValueError(f"{source!r} is neither DNS_NAME@tcp:/MOUNT_NAME nor DNS_NAME:/EXPORT")
    return Path("nfs" if dns_name == server else "lustre", dns_name, name)


def _unshare(command: list[str]) -> list[str]:
    return [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--propagation=private",
        "--",
        *command,
    ]
