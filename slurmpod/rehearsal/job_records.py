"""Job records: slurmctld sends them to slurmdbd asynchronously, so they may be late."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.rehearsal.shell import Shell

UNFINISHED = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")


def recorded_states(shell: Shell, which: str) -> list[str]:
    """Return the recorded states of the jobs that `which`, an option of sacct, selects."""
    asked = ["sacct", "--noheader", "--allocations", which, "--format=State%20"]
    return shell.run(asked).split()


def are_final(states: Sequence[str]) -> bool:
    """Return whether there are records and all of them have a final state."""
    return bool(states) and not any(state in UNFINISHED for state in states)
