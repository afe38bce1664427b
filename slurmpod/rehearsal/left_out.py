"""What of an environment no rehearsal can have: it is left out, and the user is told."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from slurmpod.rehearsal.progress import Progress
    from slurmpod.resolve import Resolved

FILE_NAME = "_rehearsed.yaml"


def rehearsed_file(
    environment_file: Path, resolved: Resolved, folder: Path, progress: Progress
) -> Path:
    """Return the file to deploy with nodes: the environment, or one in `folder` on top of it.

    A directory server is out of a rehearsal's reach, and nothing can stand for it: nodes trust only
    whom its authority has signed.
    """
    if resolved.access.directory is None:
        return environment_file
    progress.note("left out: access.directory, which nodes of a rehearsal cannot reach")
    file = folder / FILE_NAME
    base = os.path.relpath(environment_file.resolve(), folder.resolve())
    file.write_text(f"extends: {json.dumps(base)}\naccess: {{directory: null}}\n", encoding="utf-8")
    return file
