"""Commands of HyperPod's agents on running nodes: put and read files, run short scripts."""

from __future__ import annotations

import io
import shlex
import subprocess
import tarfile
from collections.abc import Mapping

from embedded_aws.cluster import ClusterFailed
from slurmpod.rehearsal.nodes.machines import Machines

TIMEOUT_SECONDS = 60


def put_file(
    machines: Machines,
    hostname: str,
    path: str,
    content: bytes,
    *,
    mode: int = 0o644,
    owner: str = "root",
) -> None:
    """Write a file, replacing what was there in one step; a link is followed."""
    script = (
        f"target=$(readlink --canonicalize {shlex.quote(path)}) && umask 077 &&"
        f' cat > "$target.partial" && chown {shlex.quote(owner)}: "$target.partial" &&'
        f' chmod {mode:o} "$target.partial" && mv "$target.partial" "$target"'
    )
    run_script(machines, hostname, script, stdin=content)


def read_file(machines: Machines, hostname: str, path: str) -> bytes:
    """Return the content of a file, nothing where there is none."""
    quoted = shlex.quote(path)
    return run_script(machines, hostname, f"[ ! -e {quoted} ] || cat {quoted}")


def put_tree(machines: Machines, hostname: str, folder: str, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder; S3 keeps no modes, so everything becomes executable."""
    target = shlex.quote(folder)
    script = f"mkdir -p {target} && tar -x -C {target}"
    run_script(machines, hostname, script, stdin=_archive(files))


def run_script(machines: Machines, hostname: str, script: str, *, stdin: bytes = b"") -> bytes:
    """Run a short shell script as root and return its output.

    Raises ClusterFailed when it fails or takes too long, MachineFailed when the node does not run.
    """
    try:
        result = machines.run(
            hostname, ["/bin/sh", "-c", script], stdin=stdin, timeout_seconds=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise ClusterFailed(
            f"{hostname}: this did not end within {TIMEOUT_SECONDS} s: {script}"
        ) from None
    if result.returncode:
        said = (
            result.stderr.decode(errors="replace").strip()
            or f"status {result.returncode} of {script}"
        )
        raise ClusterFailed(f"{hostname}: {said}")
    return result.stdout


def _archive(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
