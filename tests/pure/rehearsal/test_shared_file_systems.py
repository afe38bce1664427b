"""Which file systems the platform offers to nodes, and under which names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from slurmpod.aws.gateway import Gateway, SharedFileSystem

FOUND = [
    {
        "FileSystemId": "fs-1",
        "FileSystemType": "LUSTRE",
        "DNSName": "fs-1.example",
        "LustreConfiguration": {"MountName": "abcdefgh"},
    },
    {"FileSystemId": "fs-2", "FileSystemType": "OPENZFS", "DNSName": "fs-2.example"},
    {"FileSystemId": "fs-3", "FileSystemType": "WINDOWS", "DNSName": "fs-3.example"},
]


def test_lustre_and_openzfs_are_offered_as_mount_calls_them() -> None:
    fsx = SimpleNamespace(describe_file_systems=lambda: {"FileSystems": FOUND})
    clients: Any = SimpleNamespace(fsx=fsx)
    assert Gateway(clients).shared_file_systems() == (
        SharedFileSystem("fs-1", "fs-1.example@tcp:/abcdefgh"),
        SharedFileSystem("fs-2", "fs-2.example:/fsx"),
    )
