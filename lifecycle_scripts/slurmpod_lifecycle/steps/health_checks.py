"""Health checks of workers before and after every job, run by Slurm: see slurmpod_health.

The checks are on every worker's own disk, with the node's expected hardware and the programs that
Slurm looks for there; `slurm_settings` names these in slurm.conf. A scratch folder is checked only
if it is a separate disk by now, and a file system of HyperPod's only if it is mounted by now: a new
one is not, on older nodes. Optional, as a node without checks still takes jobs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import slurmpod_health
from slurmpod_health.expectations import Expectations, SharedFolder
from slurmpod_lifecycle.dataclass_json import to_json
from slurmpod_lifecycle.health_programs import COMMAND, EXPECTATIONS, FOLDER, worker_programs
from slurmpod_lifecycle.machine import Machine, source_at
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role

FREE_MIB_ON_ROOT = 1024
"""With less, logs and Slurm's own files soon fill the disk."""


class HealthChecks(NodeStep):
    """The checks are installed."""

    name = "health_checks"
    roles = frozenset({Role.WORKER})
    needs = ("scratch", "mount_fsx")
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables health checks."""
        return super().applies_to(node) and node.settings.node.health_checks

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return the removal of all files, the command first: without it nothing is checked."""
        del machine
        return dict.fromkeys((*reversed(worker_programs()), EXPECTATIONS, *_package()))

    def is_done(self) -> bool:
        """Return whether all files are up to date."""
        machine = self.node.machine
        return all(machine.read(path) == text for path, text in self._files().items())

    def apply(self) -> str:
        """Write the files, the command last: until it exists nothing is checked."""
        programs = worker_programs()
        for path, text in self._files().items():
            self.node.machine.write(path, text, mode=0o755 if path in programs else 0o644)
        return f"run {Path(COMMAND).name} to see what they find"

    def _files(self) -> dict[str, str]:
        text = json.dumps(to_json(expectations(self.node)), indent=2) + "\n"
        return {**_package(), EXPECTATIONS: text, **worker_programs()}


def expectations(node: Node) -> Expectations:
    """Return the hardware and folders that the checks expect."""
    settings, hardware = node.settings, node.hardware
    scratch = settings.node.scratch_path
    has_scratch = scratch is not None and source_at(node.machine, scratch) is not None
    shared = [
        each
        for each in settings.file_systems
        if not each.mounted_by_hyperpod or source_at(node.machine, each.mount_path)
    ]
    return Expectations(
        node=node.name,
        accelerator_kind=hardware.accelerator_kind if hardware else "",
        accelerators=hardware.accelerators if hardware else 0,
        efa_interfaces=hardware.efa_interfaces if hardware else 0,
        scratch=scratch if has_scratch else None,
        shared_folders=tuple(SharedFolder(each.mount_path, each.root_writes) for each in shared),
        free_mib_on_root=FREE_MIB_ON_ROOT,
    )


def _package() -> dict[str, str]:
    """Return the files of the checks, copied because the bundle does not outlive a reboot."""
    package = Path(slurmpod_health.__file__).parent
    return {
        f"{FOLDER}/{path.relative_to(package.parent).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(package.rglob("*.py"))
    }
