"""Remains of an option on nodes that are older than the wish to have it off.

Files of our own go, and our lines in files of others; a service stops before its file goes.
docs/lifecycle.md says what stays: whatever running jobs may use.
"""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod_lifecycle import steps, units
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Role


class SwitchedOff(NodeStep):
    """Nothing is left of what the environment no longer asks for, as far as it can go."""

    name = "switched_off"
    roles = frozenset(Role)
    required = False

    def is_done(self) -> bool:
        """Return whether nothing is left."""
        return not self._left()

    def apply(self) -> str:
        """Stop the services that are left, and take back the files."""
        left = self._left()
        for path, text in left.items():
            self._take_back(path, text)
        return f"took back {', '.join(left)}" if left else "nothing was left"

    def _take_back(self, path: str, text: str | None) -> None:
        machine, (folder, _, name) = self.node.machine, path.rpartition("/")
        if text is not None:
            machine.write(path, text)
            return
        if folder == units.UNITS:
            machine.run("systemctl", "disable", "--quiet", "--now", name)
        machine.run("rm", "-f", path)

    def _left(self) -> Mapping[str, str | None]:
        """Return what files should say that say something else, by path; None for no file."""
        node = self.node
        off = [step for step in steps.STEPS if not step.applies_to(node)]
        wanted = {
            path: text for step in off for path, text in step.files_without(node.machine).items()
        }
        return {path: text for path, text in wanted.items() if node.machine.read(path) != text}
