"""Removal of options that were switched off after a node was set up.

Our own files are removed, and our lines in other files; a service stops before its file is removed.
docs/lifecycle.md says what stays: whatever running jobs may use.
"""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod_lifecycle import steps, units
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Role


class SwitchedOff(NodeStep):
    """Options that the environment no longer enables are removed, as far as possible."""

    name = "switched_off"
    roles = frozenset(Role)
    required = False

    def is_done(self) -> bool:
        """Return whether nothing is left."""
        return not self._left()

    def apply(self) -> str:
        """Stop the remaining services and remove the files."""
        left = self._left()
        for path, text in left.items():
            self._take_back(path, text)
        return f"removed {', '.join(left)}" if left else "nothing to remove"

    def _take_back(self, path: str, text: str | None) -> None:
        machine, (folder, _, name) = self.node.machine, path.rpartition("/")
        if text is not None:
            machine.write(path, text)
            return
        if folder == units.UNITS:
            machine.run("systemctl", "disable", "--quiet", "--now", name)
        machine.run("rm", "-f", path)

    def _left(self) -> Mapping[str, str | None]:
        """Return the contents of files that differ from them, by path; None for no file."""
        node = self.node
        off = [step for step in steps.STEPS if not step.applies_to(node)]
        wanted = {
            path: text for step in off for path, text in step.files_without(node.machine).items()
        }
        return {path: text for path, text in wanted.items() if node.machine.read(path) != text}
