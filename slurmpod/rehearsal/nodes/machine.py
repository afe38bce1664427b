"""One machine from power on to power off, and its disk.

The disk is an overlay: the image as the lower layer, and the machine's writes, in memory. It is
mounted in the sandbox, so that it survives a reboot of its machine, but not its owner.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.enter import BOUNDING_SET
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.sandbox import BRIDGE, PATH, Sandbox
from slurmpod.rehearsal.nodes.spec import File, MachineSpec

CONSOLE_LOG = "console.log"
"""The console log of a machine's boots; later boots of the same name are appended."""

_BOOT_SECONDS = 180.0
_SHUTDOWN_SECONDS = 30.0
_SHUT_DOWN = signal.SIGRTMIN + 4
"""The signal that shuts down systemd as a container's first process (systemd(1), Signals)."""
_LOG_TAIL_LINES = 20
_INIT_SCRIPT = Path(__file__).with_name("machine_init.sh")
_DISK_SCRIPT = Path(__file__).with_name("machine_disk.sh")


class Machine:
    """A machine of a sandbox. `directory` (log, readiness) outlives it, `cgroup` does not."""

    def __init__(
        self,
        spec: MachineSpec,
        *,
        hosts: Sequence[str],
        directory: Path,
        cgroup: Path,
        sandbox: Sandbox,
        port: str,
    ) -> None:
        self.cgroup = cgroup
        self._spec = spec
        self._hosts = tuple(hosts)
        self._directory = directory
        self._sandbox = sandbox
        self._port = port
        self._disk = Disk(directory / "disk", sandbox)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._is_off = False

    @property
    def is_over(self) -> bool:
        """Whether its power was cut, it shut down, or its boot failed."""
        ended = self._process is not None and self._process.poll() is not None
        return self._is_off or ended

    @property
    def wants_reboot(self) -> bool:
        """Whether it ended because of a reboot request from inside (SIGHUP, see reboot(2))."""
        return self._process is not None and self._process.poll() == -signal.SIGHUP

    def boot(self, image: Path) -> None:
        """Boot from `image`; return when systemd has started all its units.

        Raises MachineFailed with the end of the console log.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / CONSOLE_LOG).open("ab") as log:
            made = self._disk.make(image, self._spec, self._files(), cgroup=self.cgroup, log=log)
        if not made:
            raise self._failed("stopped while it booted")
        self._power_on()

    def reboot(self) -> None:
        """Shut the machine down, by force if necessary, and boot it from its own disk.

        Raises MachineFailed as `boot` does, and if its power was cut: then it has no disk.
        """
        self._is_ready = False
        self._ask_to_shut_down()
        self._unplug()
        self._kill()
        self._power_on()

    def power_off(self) -> None:
        """Cut the power: disconnect it first, so that no peer is notified; then kill every process.

        The contents of its disk are lost. May be repeated, and called at any point of a boot.
        """
        self._unplug()
        self.end()
        self._disk.lose()

    def end(self) -> None:
        """End all processes of the machine, and wait until they are gone."""
        self._is_off = True
        self._kill()

    def update_hosts(self, lines: Sequence[str]) -> None:
        """Append to /etc/hosts of a running machine the lines that it does not have yet.

        The file belongs to the machine like any other: its scripts may edit it.
        """
        new = lines[len(self._hosts) :]
        if not self._is_ready or self.is_over or not new:
            return
        path = f"/proc/{cgroups.init_pid(self.cgroup)}/root/etc/hosts"
        with contextlib.suppress(OSError):  # the machine has just ended
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
            try:
                os.write(descriptor, "".join(new).encode())
            finally:
                os.close(descriptor)
        self._hosts = tuple(lines)

    def _power_on(self) -> None:
        """Boot from the disk, unless the power was cut after the disk was created."""
        if self._is_off:
            raise self._failed("has no power")
        with _readiness_socket(self._directory) as readiness:
            with (self._directory / CONSOLE_LOG).open("ab") as log:
                command = self._sandbox.command(_unshare())
                self._process = subprocess.Popen(
                    cgroups.joined(self.cgroup, [*cgroups.IGNORING_NO_SIGNAL, *command]),
                    env=self._settings(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            self._wait_until_ready(readiness)
        self._is_ready = True

    def _kill(self) -> None:
        cgroups.kill(self.cgroup)
        if self._process is not None:
            self._process.wait()

    def _unplug(self) -> None:
        with contextlib.suppress(MachineFailed):  # no such interface: not yet or no longer
            self._sandbox.run(["ip", "link", "delete", self._port])

    def _ask_to_shut_down(self) -> None:
        pid = cgroups.init_pid(self.cgroup)
        if pid is None or self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.kill(pid, _SHUT_DOWN)
            self._process.wait(_SHUTDOWN_SECONDS)

    def _files(self) -> Mapping[str, File]:
        hosts = File("".join(self._hosts).encode(), mode=0o644)
        return {"/etc/hosts": hosts, **self._spec.files}

    def _settings(self) -> Mapping[str, str]:
        return {
            "PATH": PATH,
            "DIRECTORY": str(self._directory),
            "MACHINE": self._spec.hostname,
            "ADDRESS": str(self._spec.address),
            "INTERFACE": self._spec.interface,
            "HARDWARE_ADDRESS": self._spec.hardware_address,
            "GATEWAY": str(self._spec.gateway),
            "BRIDGE": BRIDGE,
            "PORT": self._port,
            "FILE_SYSTEMS": str(self._sandbox.file_systems),
            "BOUNDING_SET": BOUNDING_SET,
            "ACCELERATORS": str(self._spec.accelerators),
            "ACCELERATOR_KIND": self._spec.accelerator_kind,
        }

    def _wait_until_ready(self, readiness: socket.socket) -> None:
        deadline = time.monotonic() + _BOOT_SECONDS
        while not self.is_over and time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                if b"READY=1" in readiness.recv(4096).splitlines():
                    return
        raise self._failed("did not become ready")

    def _failed(self, how: str) -> MachineFailed:
        reason = "stopped while it booted" if self.is_over else how
        log = self._directory / CONSOLE_LOG
        tail = log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
        return MachineFailed(
            "\n".join([f"{self._spec.hostname} {reason}; {log} ends with:", *tail])
        )


def _unshare() -> list[str]:
    """Return the argv of the machine's first process; its clock starts at 0, as at a boot.

    Slurm compares boot times to distinguish a replaced node from one that lost its connection.
    """
    uptime = int(time.clock_gettime(time.CLOCK_BOOTTIME))
    namespaces = ["mount", "uts", "ipc", "net", "pid", "cgroup", "time"]
    return [
        "unshare",
        *(f"--{namespace}" for namespace in namespaces),
        f"--boottime=-{uptime}",
        "--propagation=slave",
        "--fork",
        "--kill-child",
        "--",
        "sh",
        str(_INIT_SCRIPT),
    ]


@contextmanager
def _readiness_socket(directory: Path) -> Iterator[socket.socket]:
    """Listen on `directory`/ready, where systemd reports "READY=1" as a service does.

    The path uses a descriptor because a socket's address has at most 107 bytes.
    """
    path = directory / "ready"
    path.unlink(missing_ok=True)
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as readiness:
        try:
            readiness.bind(f"/proc/self/fd/{folder}/ready")
        finally:
            os.close(folder)
        readiness.settimeout(0.1)
        try:
            yield readiness
        finally:
            path.unlink()


class Disk:
    """The disk of one machine, mounted at `path` inside the sandbox."""

    def __init__(self, path: Path, sandbox: Sandbox) -> None:
        self._path = path
        self._sandbox = sandbox

    def make(
        self,
        image: Path,
        spec: MachineSpec,
        files: Mapping[str, File],
        *,
        cgroup: Path,
        log: IO[bytes],
    ) -> bool:
        """Create the disk with these files; return False on failure, with the reason in `log`."""
        self._path.mkdir(parents=True, exist_ok=True)
        command = self._sandbox.command(["sh", str(_DISK_SCRIPT)])
        settings = {
            "PATH": PATH,
            "DISK": str(self._path),
            "IMAGE": str(image),
            "MACHINE": spec.hostname,
            "GATEWAY": str(spec.gateway),
        }
        with _archive(files) as archive:
            made = subprocess.run(
                cgroups.joined(cgroup, command),
                check=False,
                env=settings,
                stdin=archive,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return made.returncode == 0

    def lose(self) -> None:
        """Unmount the disk and discard its contents; may be repeated."""
        with contextlib.suppress(MachineFailed):  # never created, or already gone
            self._sandbox.run(["umount", "--recursive", "--lazy", str(self._path)])


@contextmanager
def _archive(files: Mapping[str, File]) -> Iterator[IO[bytes]]:
    """Write the files to a tar archive that a child process can read from its start."""
    with tempfile.TemporaryFile() as archive:
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for path, file in sorted(files.items()):
                member = tarfile.TarInfo(path.lstrip("/"))
                member.size = len(file.content)
                member.mode = file.mode
                member.mtime = time.time()
                member.uname = member.gname = file.owner
                tar.addfile(member, io.BytesIO(file.content))
        archive.seek(0)
        yield archive
