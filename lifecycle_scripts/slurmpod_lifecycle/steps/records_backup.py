"""A timer that saves job records in the bucket: see `kept_records`."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod_lifecycle.kept_records import program
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Mode, RecordsBackup, Role
from slurmpod_lifecycle.timers import TimedProgram


class SavedRecords(NodeStep):
    """A timer saves the controller's job records in the environment's bucket."""

    name = "records_backup"
    roles = frozenset({Role.CONTROLLER})
    modes = frozenset({Mode.CUSTOMER})
    needs = ("accounting",)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is a controller with its own database and a backup."""
        return super().applies_to(node) and node.settings.records_backup is not None

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return the removal of all files, the timer first."""
        del machine
        nowhere = program(RecordsBackup(uri="", interval_minutes=0), "")
        return dict.fromkeys(nowhere.files())

    def is_done(self) -> bool:
        """Return whether the timer runs and writes to the configured location."""
        return self._program().is_done(self.node.machine)

    def apply(self) -> str:
        """Install the program, and start the timer."""
        self._program().start(self.node.machine)
        return f"job records are saved every {self._backup().interval_minutes} minutes"

    def _program(self) -> TimedProgram:
        return program(self._backup(), self.node.settings.region)

    def _backup(self) -> RecordsBackup:
        assert self.node.settings.records_backup  # noqa: S101  # checked by applies_to
        return self.node.settings.records_backup
