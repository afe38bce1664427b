"""An archive of logs for a support case: a file for each log of each node, and what is missing."""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slurmpod.operations.logs.gather import Gathered

MODE = 0o600
"""Only the owner may read logs."""


def files_of(gathered: Gathered, facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of an archive by name; `facts` describe its content."""
    files: dict[str, list[str]] = {}
    for line in gathered.lines:
        name = f"{line.node}/{line.log}.log"
        files.setdefault(name, []).append(f"{line.time.isoformat()} {line.text}\n")
    about = {**facts, "not_read": gathered.unread, "lines": len(gathered.lines)}
    return {
        "about.json": json.dumps(about, indent=2) + "\n",
        **{name: "".join(lines) for name, lines in sorted(files.items())},
    }


def write_archive(path: Path, files: Mapping[str, str]) -> None:
    """Write the archive, whole or not at all; raises FileExistsError if it exists."""
    if path.exists():
        raise FileExistsError(f"{path} already exists")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            written = int(Path(name).stat().st_mtime)
            for each, text in files.items():
                content = text.encode()
                entry = tarfile.TarInfo(f"{path.name.removesuffix('.tar.gz')}/{each}")
                entry.size, entry.mode, entry.mtime = len(content), MODE, written
                archive.addfile(entry, io.BytesIO(content))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
