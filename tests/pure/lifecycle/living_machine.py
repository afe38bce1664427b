"""A machine that behaves: units, folders and mounts are what the commands before have made them.

It can be killed after any change, as a node can lose power there, and go on from what was left.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from slurmpod_lifecycle.directory import CA_CERTIFICATE
from slurmpod_lifecycle.dry_run import ReadOnlyMachine, only_asks
from slurmpod_lifecycle.machine import COMMAND_TIMEOUT_SECONDS, MOUNTS, RUN_BY_HAND
from slurmpod_lifecycle.step import CommandFailed
from slurmpod_lifecycle.steps.ssh_between_nodes import KEY_PROGRAM
from slurmpod_lifecycle.units import NOTES, drop_in_path, knows_its_files
from tests.pure.lifecycle.fakes import FakeMachine

UNIT_FILES = "/etc/systemd/system/"
MAKES_FOLDERS = re.compile(r'^ExecStart="/usr/bin/install" "--directory" (.*)$', re.MULTILINE)

READS = {
    "docker": ("/etc/docker/daemon.json",),
    "slurmctld": ("/opt/slurm/etc/accounting.conf", "/opt/slurm/etc/slurm.conf"),
    "slurmdbd": ("/opt/slurm/etc/slurmdbd.conf",),
    "ssh": ("/etc/ssh/sshd_config.d/10-slurmpod.conf",),
    "sssd": ("/etc/sssd/sssd.conf", CA_CERTIFICATE),
}
"""What services read when they start, beside what systemd tells them."""


class Killed(BaseException):
    """The machine is gone; nothing of the step may go on, not even what handles errors."""


class LivingMachine(FakeMachine):
    """Commands without a meaning here succeed, and print what `reply` says."""

    def __init__(self) -> None:
        super().__init__()
        self.folders: set[str] = set()
        self.homes: dict[str, str] = {}
        """The ids of their owners by the names of the folders."""
        self.enabled: set[str] = set()
        self.active: set[str] = set()
        self.read_units: dict[str, str] = {}
        self.has_read: dict[str, Mapping[str, str]] = {}
        """What the files of a service said when it started, or was told to read them again."""
        self.mounted_by: dict[str, str] = {}
        """The line in the kernel's list of mounts that a unit or a `mount` of a folder adds."""
        self.changes = 0
        self._kill_after: int | None = None

    @contextmanager
    def killed_after(self, change: int) -> Iterator[None]:
        """Let it be killed after so many changes; afterwards it goes on from what was left."""
        self._kill_after = change
        with pytest.raises(Killed):
            yield
        self._kill_after = None

    def state(self) -> dict[str, object]:
        """Return all that a step can leave behind, to be compared."""
        kept = {path: text for path, text in self.files.items() if not _is_of_the_system(path)}
        return {
            "read": {unit: self.has_read.get(unit) for unit in self.active},
            "old": self.old(),
            "files": kept,
            "access": {path: self.access.get(path) for path in kept},
            "folders": set(self.folders),
            "homes": dict(self.homes),
            "enabled": set(self.enabled),
            "active": set(self.active),
            "units": dict(self.read_units),
            "mounts": set(self.files.get(MOUNTS, "").splitlines()),
        }

    def old(self) -> set[str]:
        """Return the services of which the steps know that they go on with older files."""
        return {unit for unit in self.active if not knows_its_files(self, unit)}

    def unaware(self) -> set[str]:
        """Return the other services that do."""
        read = {unit for unit in self.active if self.has_read.get(unit) != self._files_of(unit)}
        return read - self.old()

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
        does = getattr(self, f"_{name.rpartition('/')[2].replace('-', '_')}", None)
        if does and "--property=InvocationID" not in words:
            arguments = [word for word in words if not word.startswith("-")]
            printed = does(*arguments) or printed
        if not only_asks(command):
            self._changed()
        return printed

    def _changed(self) -> None:
        self.changes += 1
        if self.changes == self._kill_after:
            raise Killed

    def _systemctl(self, verb: str, *names: str) -> str:
        units = [name.removesuffix(".service") for name in names]
        does: dict[str, Callable[[str], object]] = {
            "enable": self.enabled.add,
            "disable": self._disable,
            "start": self.start,
            "restart": self.restart,
            "reload": self._read,
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

    def run_of(self, unit: str) -> str:
        return str(self.runs[unit] or "")

    def note_run(self, verb: str, unit: str) -> None:
        """Leave it to what commands do here."""

    def start(self, unit: str) -> None:
        if unit in self.active:
            return
        self.runs[unit] += 1
        self.active.add(unit)
        self._read(unit)
        self._mount(unit)
        for folders in MAKES_FOLDERS.findall(self.files.get(f"{UNIT_FILES}{unit}.service", "")):
            self._install(*shlex.split(folders))

    def restart(self, unit: str) -> None:
        self.active.discard(unit)
        self.start(unit)

    def _read(self, unit: str) -> None:
        self.has_read[unit] = self._files_of(unit)

    def _scontrol(self, verb: str, *_: str) -> None:
        if verb == "reconfigure":
            self._read("slurmctld")

    def _files_of(self, unit: str) -> Mapping[str, str]:
        """Return what a service reads when it starts, and what systemd knows of it."""
        own = {path: text for path, text in self.files.items() if path in READS.get(unit, ())}
        drop_in = drop_in_path(unit)
        return {**own, drop_in: self.read_units.get(drop_in, "")}

    def _mount(self, what: str) -> None:
        line = self.mounted_by.get(what, "")
        if line not in self.files.get(MOUNTS, ""):
            self.files[MOUNTS] = self.files.get(MOUNTS, "") + line

    def _unit_files(self) -> dict[str, str]:
        return {path: text for path, text in self.files.items() if path.startswith(UNIT_FILES)}

    def _is_outdated(self, unit: str) -> bool:
        """Return whether a unit's files are others than systemd has read."""
        own = re.compile(rf"{UNIT_FILES}{re.escape(unit)}(\.\w+)?(\.d/.*)?")
        now, then = self._unit_files(), self.read_units
        return any(now.get(path) != then.get(path) for path in {*now, *then} if own.fullmatch(path))

    def _systemd_escape(self, path: str) -> str:
        return path.strip("/").replace("/", "-") + "\n"

    def _mkdir(self, *folders: str) -> None:
        self.folders.update(folder for folder in folders if folder.startswith("/"))

    _install = _mkdir

    def _find(self, folder: str, *rest: str) -> str:
        """Answer `find FOLDER -type f` and who has homes; other questions have their replies."""
        below = sorted(path for path in self.files if path.startswith(f"{folder}/"))
        homes = sorted(f"{uid} {home}" for home, uid in self.homes.items())
        found = {("f",): below, ("1", "1", r"%U %f\n"): homes}.get(rest, [])
        return "".join(f"{line}\n" for line in found)

    def _slurmpod_home(self, home: str, temporary: str, owner: str, *_: str) -> None:
        del temporary
        self._mkdir(home)
        self.homes[home.rpartition("/")[2]] = owner.partition(":")[0]

    def _slurmpod_ssh_pair(self, folder: str, *_: str) -> None:
        self.files[f"{folder}/id_ed25519.pub"] = "ssh-ed25519 AAAA ubuntu\n"

    def _runuser(self, user: str, program: str, pair: str, home: str) -> None:
        """Be the program that gives a user the pair of keys."""
        assert (user, program) == ("ubuntu", KEY_PROGRAM)
        self.files[f"{home}/.ssh/id_ed25519"] = self.files[f"{pair}/id_ed25519.pub"]

    def _test(self, path: str) -> None:
        beside = (*self.files, *self.folders)
        if path not in beside and not any(each.startswith(f"{path}/") for each in beside):
            raise CommandFailed(f"there is no {path}", RUN_BY_HAND)

    def _rm(self, *paths: str) -> None:
        for path in paths:
            self.folders.discard(path)
            for gone in [each for each in self.files if f"{each}/".startswith(f"{path}/")]:
                del self.files[gone]


def _is_of_the_system(path: str) -> bool:
    """Return whether a file says how the machine is, or was, and not how it should be."""
    return path == MOUNTS or path.startswith(f"{NOTES}/")


class ReadOnlyLivingMachine(ReadOnlyMachine, LivingMachine):
    """The view that a dry run has of such a machine."""

    def __init__(self, machine: LivingMachine) -> None:
        LivingMachine.__init__(self)
        self.__dict__.update(machine.__dict__)
