"""Parts of an environment that rehearsals do not support: they are left out with a message."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from slurmpod.operations.progress import Progress
from slurmpod.platform_profiles.profile import Software
from slurmpod.resolve import Resolved

FILE_NAME = "_rehearsed.yaml"

NO_DIRECTORY = "access.directory, which nodes of a rehearsal cannot reach"
"""No replacement server is possible: nodes trust only certificates signed by its authority."""

NO_CONTAINERS = "lifecycle.containers, as nodes of a rehearsal run no containers"
"""Debian has no packages for them, and the environment's own may be for another system. With a
profile whose image has all of them, including Docker, nothing is left out."""

NO_MODULE = "access.ssh_needs_job, as nodes of a rehearsal cannot fetch your package of its module"
"""If the environment names no package, nodes fail as on HyperPod; if the profile's image has the
module, nothing is left out."""


def rehearsed_file(
    environment_file: Path,
    resolved: Resolved,
    software: Software,
    folder: Path,
    progress: Progress,
) -> Path:
    """Return the file to deploy with nodes: the environment, or one in `folder` that extends it."""
    left_out = _left_out(resolved, software)
    if not left_out:
        return environment_file
    for what in left_out:
        progress.note(f"left out: {what}")
    base = os.path.relpath(environment_file.resolve(), folder.resolve())
    changes: dict[str, dict[str, object]] = {}
    for section, values in left_out.values():
        changes.setdefault(section, {}).update(values)
    file = folder / FILE_NAME
    file.write_text(f"{json.dumps({'extends': base, **changes}, indent=2)}\n", encoding="utf-8")
    return file


def _left_out(
    resolved: Resolved, software: Software
) -> Mapping[str, tuple[str, Mapping[str, object]]]:
    """Return the section and the replacement values for each part that is left out."""
    found: dict[str, tuple[str, Mapping[str, object]]] = {}
    lifecycle, access = resolved.environment.lifecycle, resolved.environment.access
    if resolved.access.directory is not None:
        found[NO_DIRECTORY] = "access", {"directory": None}
    has_containers = software.enroot and software.pyxis and software.docker
    if lifecycle.containers and not has_containers:
        found[NO_CONTAINERS] = "lifecycle", {"containers": False}
    has_package = any(each.name == "pam_slurm_adopt" for each in lifecycle.artefacts)
    if access.ssh_needs_job and has_package and not software.pam_slurm_adopt:
        found[NO_MODULE] = "access", {"ssh_needs_job": False}
    return found
