"""A machine's disk: the image below, and above it all that the machine writes, in memory.

It is mounted in the enclosure, so that it outlives a reboot of its machine, but not its owner.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.enclosure import PATH, Enclosure
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.spec import File, MachineSpec

_SCRIPT = Path(__file__).with_name("machine_disk.sh")


class Disk:
    """The disk of one machine, mounted at `path` inside the enclosure."""

    def __init__(self, path: Path, enclosure: Enclosure) -> None:
        self._path = path
        self._enclosure = enclosure

    def make(
        self,
        image: Path,
        spec: MachineSpec,
        files: Mapping[str, File],
        *,
        cgroup: Path,
        log: IO[bytes],
    ) -> bool:
        """Make the disk with these files on it; False, and why in `log`, when that fails."""
        self._path.mkdir(parents=True, exist_ok=True)
        command = self._enclosure.command(["sh", str(_SCRIPT)])
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
        """Let go of the disk and all that is on it; may be repeated."""
        with contextlib.suppress(MachineFailed):  # never made, lost before, or gone with all
            self._enclosure.run(["umount", "--recursive", "--lazy", str(self._path)])


@contextmanager
def _archive(files: Mapping[str, File]) -> Iterator[IO[bytes]]:
    """Write the files as a tar archive that a child process can read from its start."""
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
