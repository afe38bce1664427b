"""The enclosure: the mount, network and pid namespaces that hold all machines of one rehearsal.

Its lifetime is its owner's. `enclosure.sh` waits on a socket that only the owner holds open, so the
kernel clears everything away when the owner closes it, crashes or is killed. (PR_SET_PDEATHSIG
would not do: it fires when the *thread* that started the process ends.)
"""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.errors import MachineFailed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Address, IPv4Network

BRIDGE = "subnet"
"""The network interface in the enclosure that stands for the subnet's switch and its gateway."""

_SCRIPT = Path(__file__).with_name("enclosure.sh")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Enclosure:
    """One running enclosure; made by `start`, ended by `close` or by the end of this process."""

    def __init__(
        self, process: subprocess.Popen[bytes], lifeline: socket.socket, file_systems: Path
    ) -> None:
        self._process = process
        self._lifeline = lifeline
        self._file_systems = file_systems

    @classmethod
    def start(
        cls, directory: Path, *, cgroup: Path, subnet: IPv4Network, gateway: IPv4Address
    ) -> Enclosure:
        """Make the namespaces and the network; `directory` takes the log and the mount point.

        Raises MachineFailed with what the kernel or a tool said.
        """
        file_systems = directory / "file-systems"
        file_systems.mkdir()
        log_path = directory / "enclosure.log"
        lifeline, far_end = socket.socketpair()
        with far_end, log_path.open("wb") as log:
            process = subprocess.Popen(
                cgroups.joined(cgroup, _unshare(["sh", str(_SCRIPT)])),
                env={
                    "PATH": PATH,
                    "BRIDGE": BRIDGE,
                    "GATEWAY": f"{gateway}/{subnet.prefixlen}",
                    "FILE_SYSTEMS": str(file_systems),
                },
                stdin=far_end.fileno(),
                stdout=far_end.fileno(),
                stderr=log,
                start_new_session=True,
            )
        enclosure = cls(process, lifeline, file_systems)
        if lifeline.recv(16) == b"ready\n":
            return enclosure
        enclosure.close()
        raise MachineFailed(f"cannot make the machines' namespaces: {log_path.read_text()}")

    @property
    def file_systems(self) -> Path:
        """Where, inside the enclosure, the shared file systems are mounted."""
        return self._file_systems

    def command(self, command: Sequence[str]) -> list[str]:
        """Return `command` such that a process of the host runs it inside.

        Raises MachineFailed when the enclosure has ended: its pid may be another process's by now.
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
        """Run a short command inside; raises MachineFailed with its output when it fails."""
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

    def add_file_system(self, source: str, directory: Path) -> None:
        """Make `directory` what `mount -t lustre <source>` finds in all machines, at once.

        `source` is `<DNS name>@tcp:/<mount name>`. Raises ValueError when it has another form.
        """
        dns_name, separator, mount_name = source.partition("@tcp:/")
        if not (dns_name and separator and mount_name) or "/" in dns_name + mount_name:
            raise ValueError(f"{source!r} is not of the form DNS_NAME@tcp:/MOUNT_NAME")
        mount_point = str(self._file_systems / dns_name / mount_name)
        self.run(["mkdir", "-p", mount_point])
        self.run(["mount", "--bind", str(directory), mount_point])

    def close(self) -> None:
        """End the enclosure and all that lives in it; returns when it is gone."""
        self._lifeline.close()
        self._process.wait()


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
