"""Records of jobs: slurmctld hands them to slurmdbd when it has time, so they may come late."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.rehearsal.shell import Shell

UNFINISHED = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")


def recorded_states(shell: Shell, which: str) -> list[str]:
    """Return the states that the records of jobs have now; `which` is sacct's option for them."""
    asked = ["sacct", "--noheader", "--allocations", which, "--format=State%20"]
    return shell.run(asked).split()


def are_final(states: Sequence[str]) -> bool:
    """Return whether there are records, and each of them says how its job ended."""
    return bool(states) and not any(state in UNFINISHED for state in states)
