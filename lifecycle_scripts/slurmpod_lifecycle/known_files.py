"""Whether what runs was started with the files that are there, or goes on with older ones.

A service reads its files when it starts. Which run of it will be out of date is noted before they
change, by systemd's own id of the run: whatever interrupts these scripts, the next ones know. A new
run has another id, whoever starts it, so that nothing is started again without need. The notes are
in /run, as a reboot starts everything with the files that there are.
"""

from __future__ import annotations

from slurmpod_lifecycle.machine import Machine

NOTES = "/run/slurmpod"


def write_for(
    machine: Machine, unit: str, path: str, text: str, *, mode: int = 0o644, owner: str = ""
) -> None:
    """Write a file that a service reads when it starts; `knows_its_files` then tells whether."""
    is_change = machine.read(path) != text
    if is_change:
        note_change(machine, unit)
    machine.write(path, text, mode=mode, owner=owner)
    if is_change:
        note_change(machine, unit)  # while the node boots, it may have started just before


def note_change(machine: Machine, unit: str) -> None:
    """Note that a file is about to change which the present run of a service has read."""
    run = _run_of(machine, unit)
    if run:
        machine.write(_note(unit), run)


def knows_its_files(machine: Machine, unit: str) -> bool:
    """Tell whether no file has changed since a service started, or was told to read them again."""
    note = machine.read(_note(unit))
    return not note or note != _run_of(machine, unit)


def reload(machine: Machine, unit: str) -> None:
    """Let a service that runs read its files again."""
    machine.run("systemctl", "reload", unit)
    machine.write(_note(unit), "")


def _note(unit: str) -> str:
    return f"{NOTES}/{unit}"


def _run_of(machine: Machine, unit: str) -> str:
    """Return systemd's id of a service's latest run (InvocationID); empty before its first one."""
    return machine.run("systemctl", "show", "--property=InvocationID", "--value", unit).strip()
