"""A machine that behaves: units, folders and mounts are what the commands before have made them.

It can be killed after any change, as a node can lose power there, and go on from what was left.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmpod_lifecycle.dry_run import ReadOnlyMachine, only_asks
from slurmpod_lifecycle.failures import CommandFailed
from slurmpod_lifecycle.machine import COMMAND_TIMEOUT_SECONDS, RUN_BY_HAND
from slurmpod_lifecycle.mounts import MOUNTS

from tests.unit.lifecycle.fakes import FakeMachine

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT_FILES = "/etc/systemd/system/"


class Killed(BaseException):
    """The machine is gone; nothing of the step may go on, not even what handles errors."""


class LivingMachine(FakeMachine):
    """Commands without a meaning here succeed, and print what `reply` says."""

    def __init__(self) -> None:
        super().__init__()
        self.folders: set[str] = set()
        self.enabled: set[str] = set()
        self.active: set[str] = set()
        self.read_units: dict[str, str] = {}
        self.mounted_by: dict[str, str] = {}
        """The line in the kernel's list of mounts that a unit or a `mount` of a folder adds."""
        self.changes = 0
        self.kill_after: int | None = None

    def state(self) -> dict[str, object]:
        """Return all that a step can leave behind, to be compared."""
        kept = {path: text for path, text in self.files.items() if path != MOUNTS}
        return {
            "files": kept,
            "access": {path: self.access.get(path) for path in kept},
            "folders": set(self.folders),
            "enabled": set(self.enabled),
            "active": set(self.active),
            "units": dict(self.read_units),
            "mounts": set(self.files.get(MOUNTS, "").splitlines()),
        }

    def answers(self, address: str, port: int) -> bool:
        del address, port
        return True

    def write(self, path: str, text: str, *, mode: int = 0o644, owner: str = "") -> bool:
        changed = super().write(path, text, mode=mode, owner=owner)
        self._changed()
        return changed

    def append(self, path: str, line: str) -> None:
        super().append(path, line)
        self._changed()

    def run(
        self,
        *command: str,
        text: str = "",
        fix: str = RUN_BY_HAND,
        timeout_seconds: float = COMMAND_TIMEOUT_SECONDS,
    ) -> str:
        printed = super().run(*command, text=text, fix=fix, timeout_seconds=timeout_seconds)
        name, *words = command[2:] if command[0] == "env" else command
        does = getattr(self, f"_{name.replace('-', '_')}", None)
        if does:
            arguments = [word for word in words if not word.startswith("-")]
            printed = does(*arguments) or printed
        if not only_asks(command):
            self._changed()
        return printed

    def _changed(self) -> None:
        self.changes += 1
        if self.changes == self.kill_after:
            raise Killed

    def _systemctl(self, verb: str, *names: str) -> str:
        units = [name.removesuffix(".service") for name in names]
        does: dict[str, Callable[[str], object]] = {
            "enable": self.enabled.add,
            "disable": self._disable,
            "start": self._start,
            "restart": self._start,
            "stop": self.active.discard,
        }
        if verb == "daemon-reload":
            self.read_units = self._unit_files()
        for unit in units:
            does.get(verb, str)(unit)
        asked = {"is-active": self.active, "is-enabled": self.enabled, "is-failed": set[str]()}
        if verb in asked and not asked[verb].issuperset(units):
            raise CommandFailed(f"{verb}: no", RUN_BY_HAND)
        return "yes\n" if verb == "show" and any(map(self._is_outdated, units)) else ""

    def _disable(self, unit: str) -> None:
        self.enabled.discard(unit)
        self.active.discard(unit)

    def _start(self, unit: str) -> None:
        self.active.add(unit)
        self._mount(unit)

    def _mount(self, what: str) -> None:
        line = self.mounted_by.get(what, "")
        if line not in self.files.get(MOUNTS, ""):
            self.files[MOUNTS] = self.files.get(MOUNTS, "") + line

    def _unit_files(self) -> dict[str, str]:
        return {path: text for path, text in self.files.items() if path.startswith(UNIT_FILES)}

    def _is_outdated(self, unit: str) -> bool:
        """Tell whether a unit's files are others than systemd has read."""
        own = re.compile(rf"{UNIT_FILES}{re.escape(unit)}(\.\w+)?(\.d/.*)?")
        now, then = self._unit_files(), self.read_units
        return any(now.get(path) != then.get(path) for path in {*now, *then} if own.fullmatch(path))

    def _systemd_escape(self, path: str) -> str:
        return path.strip("/").replace("/", "-") + "\n"

    def _mkdir(self, *folders: str) -> None:
        self.folders.update(folder for folder in folders if folder.startswith("/"))

    _install = _mkdir

    def _test(self, path: str) -> None:
        beside = (*self.files, *self.folders)
        if path not in beside and not any(each.startswith(f"{path}/") for each in beside):
            raise CommandFailed(f"there is no {path}", RUN_BY_HAND)

    def _rm(self, *paths: str) -> None:
        for path in paths:
            self.folders.discard(path)
            for gone in [each for each in self.files if f"{each}/".startswith(f"{path}/")]:
                del self.files[gone]


class ReadOnlyLivingMachine(ReadOnlyMachine, LivingMachine):
    """The view that a dry run has of such a machine."""

    def __init__(self, machine: LivingMachine) -> None:
        LivingMachine.__init__(self)
        self.__dict__.update(machine.__dict__)
