"""A copy of the report on the first shared file system that accepts it.

It is for people who look at all nodes at once and must never delay a node: a file system that fails
or hangs costs a few seconds and nothing else.
"""

from __future__ import annotations

import threading

from slurmpod_lifecycle.machine import MOUNTS
from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.runner import log
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.steps.mount_fsx import is_mounted

FOLDER = ".slurmpod/reports"
PATIENCE_SECONDS = 10.0


def copy_report(node: Node, text: str, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """Write `text` to `<mount path>/.slurmpod/reports/<node>.json`, within a time limit."""
    writer = threading.Thread(target=_write_anywhere, args=(node, text), daemon=True)
    writer.start()
    writer.join(patience_seconds)
    if writer.is_alive():
        log.warning("the report is not on shared storage: it did not answer in time")


def _write_anywhere(node: Node, text: str) -> None:
    mounts = node.machine.read(MOUNTS) or ""
    for file_system in node.settings.file_systems:
        path = f"{file_system.mount_path}/{FOLDER}/{node.name}.json"
        if is_mounted(mounts, file_system):
            try:
                node.machine.write(path, text)
            except (OSError, StepFailed) as error:
                log.info("the report cannot be written to %s: %s", path, error)
            else:
                return
