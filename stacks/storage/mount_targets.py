"""Where the file systems of an environment are: what a client says to mount them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slurmpod_cdk.environment_stack import EnvironmentStack


@dataclass(frozen=True)
class MountTarget:
    """A file system, and what a client says to mount it: server and name there.

    Tokens of new ones.
    """

    file_system_id: str
    dns_name: str
    mount_name: str


@dataclass(frozen=True)
class FileSystems:
    """All file systems of an environment, whether new or existing; Lustre by resolved name.

    `stack` is None when nothing is made.
    """

    stack: EnvironmentStack | None
    lustre: Mapping[str, MountTarget]
    openzfs: MountTarget | None
