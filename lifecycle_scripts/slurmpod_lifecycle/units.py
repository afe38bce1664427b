"""systemd units: start them, add drop-ins to them, and find out why they did not start."""

from __future__ import annotations

from slurmpod_lifecycle.failures import CommandFailed, NotYet
from slurmpod_lifecycle.known_files import knows_its_files, note_change, write_for
from slurmpod_lifecycle.machine import Machine

UNITS = "/etc/systemd/system"
JOURNAL_LINES = 30
_STATES = ("is-active", "is-enabled")
_ENABLE = ("env", "SYSTEMD_OFFLINE=1", "systemctl", "enable", "--quiet")
"""Links files and tells systemd nothing: it would read all units again, or, with --no-reload, take
every unit for outdated from then on (NeedDaemonReload, org.freedesktop.systemd1(5))."""


def is_running(machine: Machine, unit: str) -> bool:
    """Tell whether a service runs now, with its files as they are, and will after a reboot."""
    return all(_states(machine, unit)) and knows_its_files(machine, unit)


def is_off(machine: Machine, unit: str) -> bool:
    """Tell whether a service does not run now and will not run after a reboot."""
    return not any(_states(machine, unit))


def is_expected(machine: Machine, unit: str) -> bool:
    """Tell whether a service will run after a reboot, and nothing is wrong with it until now."""
    is_enabled = machine.succeeds("systemctl", "is-enabled", "--quiet", unit)
    has_failed = machine.succeeds("systemctl", "is-failed", "--quiet", unit)
    return is_enabled and not has_failed and knows_its_files(machine, unit)


def start(machine: Machine, unit: str, *, anew: bool = False, wait: bool = True) -> None:
    """Start a service now and at every boot; `anew` restarts one that runs.

    `wait` until it is up: not for one that stands by, and is up when it has to be. Raises NotYet
    with the service's own last error.
    """
    machine.run(*_ENABLE, unit)
    machine.succeeds("systemctl", "reset-failed", unit)
    try:
        how = () if wait else ("--no-block",)
        machine.run("systemctl", "restart" if anew else "start", *how, unit)
    except CommandFailed:
        reason = f"{unit} does not start: {last_error(machine, unit)}"
        raise NotYet(reason, f"run 'journalctl -u {unit}' on the node") from None


def add_drop_in(machine: Machine, unit: str, text: str) -> None:
    """Add settings to a unit that belongs to the image; it has them from its next start on."""
    _write(machine, unit, drop_in_path(unit), text)


def drop_in_path(unit: str) -> str:
    """Return the file that holds our settings for a service."""
    return f"{UNITS}/{unit}.service.d/slurmpod.conf"


def add_unit(machine: Machine, unit: str, text: str) -> None:
    """Add a service of our own, or change it from its next start on."""
    _write(machine, unit, unit_path(unit), text)


def unit_path(unit: str) -> str:
    """Return the file of a service of our own."""
    return f"{UNITS}/{unit}.service"


def mount_unit(machine: Machine, folder: str) -> str:
    """Return what systemd calls the mount at a folder."""
    return machine.run("systemd-escape", "--path", "--suffix=mount", folder).strip()


def quoted(word: str) -> str:
    """Write text as one word of a command in a unit file (systemd.service(5), command lines)."""
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("$", "$$"), ("%", "%%")):
        word = word.replace(character, escaped)
    return f'"{word}"'


def last_error(machine: Machine, unit: str) -> str:
    """Return the last line of a service's journal that says what is wrong."""
    lines = journal(machine, unit)
    errors = [line for line in lines if "fatal" in line or "error" in line.lower()]
    return (errors or lines or ["its journal is empty"])[-1]


def journal(machine: Machine, unit: str) -> list[str]:
    """Return the last lines that a service wrote, without times."""
    command = ("journalctl", "--unit", unit, "--output", "cat", "--lines", str(JOURNAL_LINES))
    return machine.run(*command).splitlines()


def reload_if_needed(machine: Machine, *units: str) -> None:
    """Let systemd read unit files again, where it holds older ones of these units.

    To read all of them is the most work that a step can give a node. What systemd does not hold it
    reads from the file when it first needs it.
    """
    if is_outdated(machine, *units):
        machine.run("systemctl", "daemon-reload")


def is_outdated(machine: Machine, *units: str) -> bool:
    """Tell whether systemd holds older settings of these units than their files have."""
    return any(_is_outdated(machine, unit) for unit in units)


def _is_outdated(machine: Machine, unit: str) -> bool:
    """Ask systemd, and compare drop-ins: before 257 it overlooks one in a folder that is new.

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
        note_change(machine, unit)  # an earlier run was cut off after it had written
    write_for(machine, unit, path, text)
    reload_if_needed(machine, unit)


def _states(machine: Machine, unit: str) -> list[bool]:
    return [machine.succeeds("systemctl", ask, "--quiet", unit) for ask in _STATES]
