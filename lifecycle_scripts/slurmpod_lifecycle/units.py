"""systemd units: start them, add drop-ins to them, and find out why they did not start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod_lifecycle.failures import CommandFailed, NotYet

if TYPE_CHECKING:
    from slurmpod_lifecycle.machine import Machine

JOURNAL_LINES = 30
_STATES = ("is-active", "is-enabled")


def is_running(machine: Machine, unit: str) -> bool:
    """Tell whether a service runs now and will run after a reboot."""
    return all(_states(machine, unit))


def is_off(machine: Machine, unit: str) -> bool:
    """Tell whether a service does not run now and will not run after a reboot."""
    return not any(_states(machine, unit))


def start(machine: Machine, unit: str, *, anew: bool = False) -> None:
    """Start a service now and at every boot; `anew` restarts it, for a changed configuration.

    Raises NotYet with the service's own last error.
    """
    machine.run("systemctl", "enable", "--quiet", unit)
    machine.succeeds("systemctl", "reset-failed", unit)
    try:
        machine.run("systemctl", "restart" if anew else "start", unit)
    except CommandFailed:
        reason = f"{unit} does not start: {last_error(machine, unit)}"
        raise NotYet(reason, f"run 'journalctl -u {unit}' on the node") from None


def add_drop_in(machine: Machine, unit: str, text: str) -> bool:
    """Add settings to a unit that belongs to the image; tell whether that changed anything."""
    changed = machine.write(drop_in_path(unit), text)
    if changed:
        machine.run("systemctl", "daemon-reload")
    return changed


def drop_in_path(unit: str) -> str:
    """Return the file that holds our settings for a service."""
    return f"/etc/systemd/system/{unit}.service.d/slurmpod.conf"


def last_error(machine: Machine, unit: str) -> str:
    """Return the last line of a service's journal that says what is wrong."""
    lines = journal(machine, unit)
    errors = [line for line in lines if "fatal" in line or "error" in line.lower()]
    return (errors or lines or ["its journal is empty"])[-1]


def journal(machine: Machine, unit: str) -> list[str]:
    """Return the last lines that a service wrote, without times."""
    command = ("journalctl", "--unit", unit, "--output", "cat", "--lines", str(JOURNAL_LINES))
    return machine.run(*command).splitlines()


def _states(machine: Machine, unit: str) -> list[bool]:
    return [machine.succeeds("systemctl", ask, "--quiet", unit) for ask in _STATES]
