"""The lines by which an environment takes an existing file system in place of a new one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.inventory import HeldFileSystem
from slurmpod.environment.environment import Environment

KNOWN_WARNING = {
    "rule": "EXN-009",
    "reason": "the file system lies in the VPC of this environment",
}
"""What a warning about existing file systems beside a network of ours is answered with."""


@dataclass(frozen=True)
class ExistingLines:
    """What to write for one file system.

    `place` is the section that the lines replace, empty where the environment has none of the
    name. `suppress` is for a warning that the rules would give without need; `warning` says what
    else has to be seen to.
    """

    file_system: HeldFileSystem
    place: str
    section: Mapping[str, Any]
    suppress: Mapping[str, str] | None = None
    warning: str = ""


def existing_lines(
    file_system: HeldFileSystem,
    former: str,
    environment: Environment,
    *,
    is_in_our_network: bool,
) -> ExistingLines | None:
    """Return what to write for a file system of `former`; None if it is written already."""
    storage = environment.storage
    all_lustre = (storage.lustre, *storage.additional_lustre)
    written = [each.existing for each in (*all_lustre, storage.openzfs) if each and each.existing]
    if any(each.id == file_system.file_system_id for each in written):
        return None
    name = file_system.tags.get("Name", "").removeprefix(former).removeprefix("-")
    place, section = _section(file_system, name, environment)
    if not is_in_our_network:
        return ExistingLines(file_system, place, section, warning=_WARNING)
    known = {each.rule for each in environment.suppress}
    is_warned = environment.network.existing is None and KNOWN_WARNING["rule"] not in known
    return ExistingLines(file_system, place, section, suppress=KNOWN_WARNING if is_warned else None)


_WARNING = (
    "no stack of the environment holds its VPC: describe that under network.existing, or connect "
    "the two"
)


def _section(
    file_system: HeldFileSystem, name: str, environment: Environment
) -> tuple[str, dict[str, Any]]:
    storage = environment.storage
    existing = {"id": file_system.file_system_id}
    if file_system.type == "OPENZFS":
        folder = storage.openzfs.mount_path if storage.openzfs else "/home"
        return "storage.openzfs", {"mount_path": folder, "existing": existing}
    existing["mount_name"] = file_system.mount_name
    if not name:
        lustre = storage.lustre
        efa = {"efa": True} if lustre and lustre.efa else {}
        folder = lustre.mount_path if lustre else "/fsx"
        return "storage.lustre", {"mount_path": folder, "existing": existing, **efa}
    for number, lustre in enumerate(storage.additional_lustre):
        if lustre.name == name:
            efa = {"efa": True} if lustre.efa else {}
            section = {"name": name, "mount_path": lustre.mount_path, "existing": existing, **efa}
            return f"storage.additional_lustre[{number}]", section
    return "", {"name": name, "mount_path": f"/{name}", "existing": existing}
