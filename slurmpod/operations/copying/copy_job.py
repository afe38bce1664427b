"""Copying a job's folder to the cluster: only files that the cluster lacks.

Small files are part of the session that installs them; large ones are transferred before.
"""

from __future__ import annotations

import base64
import json
import shlex
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmpod.folders import folder as folder_of
from slurmpod.operations.copying.carriers import CHUNK, Carrier, SessionCarrier
from slurmpod.operations.copying.packs import Pack, packed, packs
from slurmpod.operations.job_folder import JobFolder
from slurmpod.operations.local_files.local_file import LocalFile
from slurmpod.operations.node_shell import CommandFailed, NodeShell

NOT_FETCHED = "slurmpod-not-fetched"
"""Printed by the program on the node if its role may not fetch."""

INLINE_BYTES = CHUNK * 3 // 4


class NotFetched(CommandFailed):
    """The node could not fetch from the bucket; the text is from its AWS CLI."""


@dataclass(frozen=True)
class Comparison:
    """The files that the cluster has of a job.

    `differing` are the names with other content there, `lacking` the digests to transfer;
    `is_whole` if there is nothing to do.
    """

    differing: tuple[str, ...]
    lacking: frozenset[str]
    is_whole: bool


def compare(shell: NodeShell, job: JobFolder, carrier: Carrier | None = None) -> Comparison:
    """Find out which files of a job are on the cluster; raises WorkFailed."""
    with tempfile.TemporaryDirectory(prefix="slurmpod-copy-") as place:
        return _ask(shell, _request(job, "compare"), carrier or SessionCarrier(), Path(place))


def copy_job(
    shell: NodeShell,
    job: JobFolder,
    known: Comparison | None = None,
    carrier: Carrier | None = None,
) -> None:
    """Put all files into their folder; an interrupted copy changes none of them.

    Raises:
        WorkFailed: They did not arrive; the next copy continues.
    """
    carrier = carrier or SessionCarrier()
    known = known or compare(shell, job, carrier)
    if known.is_whole:
        return
    files = [file for file in job.files.values() if file.digest in known.lacking]
    with tempfile.TemporaryDirectory(prefix="slurmpod-copy-") as place:
        folder = Path(place)
        sources = _sources(shell, files, carrier, folder)
        request = {**_request(job, "install"), "packs": sources}
        after = _ask(shell, request, carrier, folder)
    if not after.is_whole:
        raise CommandFailed(f"{job.place} was changed while it was copied: run the command again")


def _sources(
    shell: NodeShell, files: Sequence[LocalFile], carrier: Carrier, folder: Path
) -> list[Mapping[str, str]]:
    """Return where the node finds the packs: a small one is in the request itself."""
    found: list[Mapping[str, str]] = []
    for pack in packs(files, folder):
        if pack.file.stat().st_size < INLINE_BYTES // 2:
            inline = base64.b64encode(pack.file.read_bytes()).decode()
            found.append({"inline": inline, "sha256": pack.sha256})
        else:
            found.append(carrier.carry(shell, pack))
        pack.file.unlink()
    return found


def _request(job: JobFolder, action: str) -> dict[str, Any]:
    files = {name: (file.digest, file.is_program) for name, file in job.files.items()}
    return {"action": action, "place": job.place, "files": files}


def _ask(shell: NodeShell, request: dict[str, Any], carrier: Carrier, folder: Path) -> Comparison:
    content = zlib.compress(json.dumps(request).encode(), 9)
    if len(content) <= INLINE_BYTES:
        words = ["inline", base64.b64encode(content).decode()]
    else:
        words = ["carried", json.dumps(carrier.carry(shell, _kept(folder / "request", content)))]
    try:
        said = json.loads(shell.run(f"{_program()} {shlex.join(words)}"))
    except CommandFailed as failure:
        if NOT_FETCHED in str(failure):
            raise NotFetched(str(failure).partition(NOT_FETCHED)[2].strip()) from None
        raise
    return Comparison(tuple(said["differing"]), frozenset(said["lacking"]), said["whole"])


def _kept(file: Path, content: bytes) -> Pack:
    file.write_bytes(content)
    return packed(file)


def _program() -> str:
    """Return the start of the program, which is sent along: short, without quotes."""
    source = folder_of("templates") / "jobs" / "copying" / "receive.py"
    packed_source = base64.b64encode(zlib.compress(source.read_bytes(), 9)).decode()
    unpack = f"import base64,zlib;exec(zlib.decompress(base64.b64decode('{packed_source}')))"
    return shlex.join(["python3", "-c", unpack])
