"""systemd units: start them, add drop-ins to them, and find out why they did not start.

A service reads its files when it starts. Before they change, the run that will be out of date is
recorded, by systemd's own id: if these scripts are interrupted, the next run knows. A new run of
the service has another id, so that nothing is restarted without need. The records are in /run, as a
reboot starts everything with the current files.

Programs that a node runs at every boot are modules of this package, copied to a permanent folder:
the bundle's folder is in /tmp, and HyperPod does not run the scripts at a reboot.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.step import CommandFailed, NotYet

UNITS = "/etc/systemd/system"
JOURNAL_LINES = 30
_STATES = ("is-active", "is-enabled")
_ENABLE = ("env", "SYSTEMD_OFFLINE=1", "systemctl", "enable", "--quiet")
"""Creates the links without a reload: that would read all units again, or, with --no-reload, mark
every unit as outdated from then on (NeedDaemonReload, org.freedesktop.systemd1(5))."""

NOTES = "/run/slurmpod"
BOOT_FOLDER = "/usr/local/lib/slurmpod/boot"
PACKAGE = Path(__file__).parent


def is_running(machine: Machine, unit: str) -> bool:
    """Return whether a service runs with its current files, and will after a reboot."""
    return all(_states(machine, unit)) and knows_its_files(machine, unit)


def is_off(machine: Machine, unit: str) -> bool:
    """Return whether a service does not run now and will not run after a reboot."""
    return not any(_states(machine, unit))


def is_expected(machine: Machine, unit: str) -> bool:
    """Return whether a service will run after a reboot, and has not failed so far."""
    is_enabled = machine.succeeds("systemctl", "is-enabled", "--quiet", unit)
    has_failed = machine.succeeds("systemctl", "is-failed", "--quiet", unit)
    return is_enabled and not has_failed and knows_its_files(machine, unit)


def start(machine: Machine, unit: str, *, restart: bool = False, wait: bool = True) -> None:
    """Start a service now and at every boot; `restart` also restarts a running one.

    With `wait`, wait until it is up, which a standby does not need. Raises NotYet with the
    service's own last error.
    """
    machine.run(*_ENABLE, unit)
    machine.succeeds("systemctl", "reset-failed", unit)
    try:
        how = () if wait else ("--no-block",)
        machine.run("systemctl", "restart" if restart else "start", *how, unit)
    except CommandFailed:
        reason = f"{unit} does not start: {last_error(machine, unit)}"
        raise NotYet(reason, f"run 'journalctl -u {unit}' on the node") from None


def add_drop_in(machine: Machine, unit: str, text: str) -> None:
    """Add settings to a unit that belongs to the image; they apply from its next start on."""
    _write(machine, unit, drop_in_path(unit), text)


def drop_in_path(unit: str) -> str:
    """Return the path of the drop-in with our settings for a service."""
    return f"{UNITS}/{unit}.service.d/slurmpod.conf"


def add_unit(machine: Machine, unit: str, text: str) -> None:
    """Add a service of our own, or change it from its next start on."""
    _write(machine, unit, unit_path(unit), text)


def unit_path(unit: str) -> str:
    """Return the path of a service of our own."""
    return f"{UNITS}/{unit}.service"


def mount_unit(machine: Machine, folder: str) -> str:
    """Return systemd's name for the mount at a folder."""
    return machine.run("systemd-escape", "--path", "--suffix=mount", folder).strip()


def quoted(word: str) -> str:
    """Quote text as one word of a command in a unit file (systemd.service(5), command lines)."""
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("$", "$$"), ("%", "%%")):
        word = word.replace(character, escaped)
    return f'"{word}"'


def last_error(machine: Machine, unit: str) -> str:
    """Return the last line of a service's journal that reports an error."""
    lines = journal(machine, unit)
    errors = [line for line in lines if "fatal" in line or "error" in line.lower()]
    return (errors or lines or ["its journal is empty"])[-1]


def journal(machine: Machine, unit: str) -> list[str]:
    """Return a service's last log lines, without times."""
    command = ("journalctl", "--unit", unit, "--output", "cat", "--lines", str(JOURNAL_LINES))
    return machine.run(*command).splitlines()


def reload_if_needed(machine: Machine, *units: str) -> None:
    """Make systemd read unit files again if it has older versions of these units.

    Reading all of them is the most expensive operation in a step. systemd reads units that it has
    not loaded from their files when it first needs them.
    """
    if is_outdated(machine, *units):
        machine.run("systemctl", "daemon-reload")


def is_outdated(machine: Machine, *units: str) -> bool:
    """Return whether systemd has older settings of these units than their files."""
    return any(_is_outdated(machine, unit) for unit in units)


def _is_outdated(machine: Machine, unit: str) -> bool:
    """Ask systemd, and compare drop-ins: before 257 it overlooks one in a new folder.

    (systemd issue 31752; Ubuntu 22.04 has 249.) Of a unit that is masked, or has no file, systemd
    holds none at all.
    """
    ask = ("systemctl", "show", "--property=NeedDaemonReload,LoadState,DropInPaths")
    held = machine.run(*ask, "--value", unit).split()
    if "yes" in held or not {"not-found", "masked"}.isdisjoint(held):
        return "yes" in held
    where = ("-maxdepth", "2", "-path", f"{UNITS}/{unit}.service.d/*.conf")
    return not set(machine.run("find", UNITS, *where).split()).issubset(held)


def _write(machine: Machine, unit: str, path: str, text: str) -> None:
    if is_outdated(machine, unit):
        note_change(machine, unit)  # an earlier run was interrupted after it had written
    write_for(machine, unit, path, text)
    reload_if_needed(machine, unit)


def _states(machine: Machine, unit: str) -> list[bool]:
    return [machine.succeeds("systemctl", ask, "--quiet", unit) for ask in _STATES]


def write_for(
    machine: Machine, unit: str, path: str, text: str, *, mode: int = 0o644, owner: str = ""
) -> None:
    """Write a file that a service reads when it starts; see `knows_its_files`."""
    is_change = machine.read(path) != text
    if is_change:
        note_change(machine, unit)
    machine.write(path, text, mode=mode, owner=owner)
    if is_change:
        note_change(machine, unit)  # while the node boots, it may have started just before


def note_change(machine: Machine, unit: str) -> None:
    """Record that a file that the current run of a service has read is about to change."""
    run = _run_of(machine, unit)
    if run:
        machine.write(_note(unit), run)


def knows_its_files(machine: Machine, unit: str) -> bool:
    """Return whether no file has changed since a service started or reloaded them."""
    note = machine.read(_note(unit))
    return not note or note != _run_of(machine, unit)


def reload(machine: Machine, unit: str) -> None:
    """Reload the files of a running service."""
    machine.run("systemctl", "reload", unit)
    machine.write(_note(unit), "")


def _note(unit: str) -> str:
    return f"{NOTES}/{unit}"


def _run_of(machine: Machine, unit: str) -> str:
    """Return systemd's id of a service's latest run (InvocationID); empty before its first one."""
    return machine.run("systemctl", "show", "--property=InvocationID", "--value", unit).strip()


class BootProgram:
    """A module of this package that a service runs once at every boot, and now.

    `arguments` are its arguments, `unit_lines` say when systemd starts it.
    """

    def __init__(self, unit: str, module: str, arguments: tuple[str, ...], unit_lines: str) -> None:
        self.unit = unit
        self._module = module
        self._arguments = arguments
        self._unit_lines = unit_lines

    def is_done(self, machine: Machine) -> bool:
        """Return whether its current version has run since the boot, and will at the next one."""
        files_are_right = all(machine.read(path) == text for path, text in self._files().items())
        return files_are_right and is_running(machine, self.unit)

    def start(self, machine: Machine) -> None:
        """Install and run it; raises NotYet with its last output if it fails.

        The service is stopped before its files change: after an interruption it does not count as
        having run in its current version.
        """
        if machine.succeeds("systemctl", "is-active", "--quiet", self.unit):
            machine.run("systemctl", "stop", self.unit)
        for path, text in self._files().items():
            machine.write(path, text)
        reload_if_needed(machine, self.unit)
        start(machine, self.unit)

    def _files(self) -> Mapping[str, str]:
        modules = {
            f"{BOOT_FOLDER}/{path.relative_to(PACKAGE.parent).as_posix()}": path.read_text("utf-8")
            for path in sorted(PACKAGE.rglob("*.py"))
        }
        return {unit_path(self.unit): self._service(), **modules}

    def _service(self) -> str:
        words = ("/usr/bin/env", "python3", "-m", f"{PACKAGE.name}.{self._module}")
        return f"""\
# Written by slurmpod's lifecycle scripts.
[Unit]
{self._unit_lines}

[Service]
Type=oneshot
RemainAfterExit=yes
Environment=PYTHONDONTWRITEBYTECODE=1
WorkingDirectory={BOOT_FOLDER}
ExecStart={" ".join(map(quoted, (*words, *self._arguments)))}

[Install]
WantedBy=multi-user.target
"""
