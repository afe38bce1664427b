"""Regular checks of idle nodes by jobs: see slurmpod_checks.

The controller has the program of a round, which a timer runs, and the batch script that carries its
own program to a node. Results stay when the checks are switched off.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import slurmpod_checks
import slurmpod_health
from slurmpod_checks.carried import text_of
from slurmpod_checks.settings import PATH, ChecksSettings
from slurmpod_checks.slurm import PROGRAM
from slurmpod_lifecycle import dataclass_json
from slurmpod_lifecycle.dataclass_json import to_json
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Checks, Role
from slurmpod_lifecycle.timers import TimedProgram

SECONDS = 20
"""How long a user's job may wait for the round that ends the check in its way."""

FOLDER = "/usr/local/lib/slurmpod-checks"
TEXT = """\
# Written by slurmpod's lifecycle scripts.
import sys

from slurmpod_checks.__main__ import main

sys.exit(main(sys.argv[1:]))
"""


class ActiveChecks(NodeStep):
    """A timer has idle nodes checked and takes faulty ones out of service."""

    name = "active_checks"
    roles = frozenset({Role.CONTROLLER})
    needs = ("slurmctld",)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables the checks."""
        return super().applies_to(node) and node.settings.checks is not None

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return the removal of all files, the timer first."""
        del machine
        return dict.fromkeys((*_program().files(), str(PATH)))

    def is_done(self) -> bool:
        """Return whether the timer runs the current program with these settings."""
        machine = self.node.machine
        return machine.read(str(PATH)) == self._settings() and _program().is_done(machine)

    def apply(self) -> str:
        """Write settings and programs, and start the timer."""
        machine = self.node.machine
        machine.write(str(PATH), self._settings())
        _program().start(machine)
        return f"idle nodes are checked every {self._checks().every_hours} hours"

    def _checks(self) -> Checks:
        assert self.node.settings.checks  # noqa: S101  # checked by applies_to
        return self.node.settings.checks

    def _settings(self) -> str:
        checks, node = self._checks(), self.node
        settings = ChecksSettings(
            every_hours=checks.every_hours,
            kinds=checks.kinds,
            groups={name: accelerator_kind(node, name) for name in checks.groups},
            pair_groups=checks.pair_groups,
            all_reduce_bounds=checks.all_reduce_bounds,
            ring_bounds=checks.ring_bounds,
            least_share=checks.least_percent / 100,
            dcgm_level=checks.dcgm_level,
            replace_after=checks.replace_after,
            scratch=node.settings.node.scratch_path,
            shared_folders=tuple(
                each.mount_path for each in node.settings.file_systems if each.root_writes
            ),
            resource_config=node.resource_config_path,
        )
        return json.dumps(to_json(settings), indent=2) + "\n"


def accelerator_kind(node: Node, group: str) -> str:
    """Return the accelerator kind that all types of a group have; empty without one."""
    options = node.settings.node
    types = [options.hardware.get(each) for each in options.instance_types.get(group, ())]
    kinds = {each.accelerator_kind if each else "" for each in types}
    return kinds.pop() if len(kinds) == 1 else ""


def _program() -> TimedProgram:
    beside = {
        **_package(Path(slurmpod_checks.__file__).parent),
        **_package(Path(slurmpod_health.__file__).parent),
        f"{FOLDER}/slurmpod_lifecycle/__init__.py": "",
        f"{FOLDER}/slurmpod_lifecycle/dataclass_json.py": Path(dataclass_json.__file__).read_text(
            encoding="utf-8"
        ),
        PROGRAM: text_of("on_node"),
    }
    return TimedProgram(
        "slurmpod-checks", f"{FOLDER}/round.py", TEXT, "python3 -B", SECONDS, beside
    )


def _package(package: Path) -> dict[str, str]:
    """Return a package's files, copied because the bundle does not outlive a reboot."""
    return {
        f"{FOLDER}/{path.relative_to(package.parent).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(package.glob("*.py"))
    }
