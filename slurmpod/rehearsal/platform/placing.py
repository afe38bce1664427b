"""Putting files onto running nodes, as HyperPod's agents do."""

from __future__ import annotations

import io
import shlex
import tarfile
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.platform import ClusterFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.nodes.machines import Machines

TIMEOUT_SECONDS = 60


def put_file(machines: Machines, hostname: str, path: str, content: bytes) -> None:
    """Write a file that everybody may read, replacing what was there in one step."""
    target, partial = shlex.quote(path), shlex.quote(f"{path}.partial")
    _run(
        machines,
        hostname,
        f"cat > {partial} && chmod 644 {partial} && mv {partial} {target}",
        content,
    )


def put_tree(machines: Machines, hostname: str, folder: str, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder; S3 keeps no modes, so everything becomes executable."""
    target = shlex.quote(folder)
    _run(machines, hostname, f"mkdir -p {target} && tar -x -C {target}", _archive(files))


def _run(machines: Machines, hostname: str, script: str, stdin: bytes) -> None:
    result = machines.run(
        hostname, ["/bin/sh", "-c", script], stdin=stdin, timeout_seconds=TIMEOUT_SECONDS
    )
    if result.returncode:
        raise ClusterFailed(f"cannot write to {hostname}: {result.stderr.decode(errors='replace')}")


def _archive(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
