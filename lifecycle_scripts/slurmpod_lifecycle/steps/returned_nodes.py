"""Nodes that are back after a reboot or a replacement take jobs: see the program of this name.

An environment that sets ReturnToService itself gets Slurm's behaviour instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slurmpod_health import node_state
from slurmpod_lifecycle import returned_nodes
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.timers import TimedProgram

SECONDS = 20
FOLDER = "/usr/local/lib"
PROGRAM = TimedProgram(
    "slurmpod-returned-nodes",
    f"{FOLDER}/slurmpod-returned-nodes.py",
    Path(returned_nodes.__file__).read_text(encoding="utf-8"),
    "python3",
    SECONDS,
    {
        f"{FOLDER}/slurmpod_health/__init__.py": "",
        f"{FOLDER}/slurmpod_health/node_state.py": Path(node_state.__file__).read_text(
            encoding="utf-8"
        ),
    },
)


class ReturnedNodes(NodeStep):
    """A timer resumes nodes that Slurm or HyperPod had set down, once they are back."""

    name = "returned_nodes"
    roles = frozenset({Role.CONTROLLER})
    needs = ("slurmctld",)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is a controller, and the environment leaves it to these scripts."""
        given = map(str.lower, node.settings.slurm.configuration)
        return super().applies_to(node) and "returntoservice" not in given

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return the removal of all files, the timer first."""
        del machine
        return dict.fromkeys(PROGRAM.files())

    def is_done(self) -> bool:
        """Return whether the timer runs the current program."""
        return PROGRAM.is_done(self.node.machine)

    def apply(self) -> str:
        """Install the program, and start the timer."""
        PROGRAM.start(self.node.machine)
        return f"nodes that are back take jobs within {SECONDS} s"
