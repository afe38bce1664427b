"""The programs of the health checks: Slurm's Prolog and Epilog, and the administrators' command.

slurm.conf names one Prolog and Epilog for all nodes, but a worker has ours only after its scripts
have run, and HyperPod may start jobs before that. Slurm drains a node whose Prolog is missing. So
the names are patterns, which Slurm expands on the node at each job: each matches a program that
does nothing and exists everywhere, and ours once it is installed. No other name matches.

Slurm could distribute the programs itself, from the folder of slurm.conf, if they had no path. It
would rewrite them at every reconfiguration, whether they changed or not. Linux starts no program
that is open for writing, and slurmd's children inherit its open files until they start their own
program: the Prolog of a job that starts at that moment fails, and Slurm drains the node.

slurmd restarts itself at a reconfiguration. It waits for running programs, but after MessageTimeout
(10 s) it gives up, on the job too, unless slurm.conf sets a longer time for them.

Several Prolog lines all run, so those of the image and of the user stay.
"""

from __future__ import annotations

from collections.abc import Collection

NOTHING = "/usr/bin/true"
"""A program that does nothing and is on every node before slurmd starts."""

PROLOG = "/usr/bin/truP"
EPILOG = "/usr/bin/truE"
PROLOG_OR_NOTHING = "/usr/bin/tru[eP]"
EPILOG_OR_NOTHING = "/usr/bin/tru[eE]"
"""The pattern in slurm.conf (glob(7)): matches NOTHING, and ours on nodes that have it."""

FOLDER = "/opt/slurmpod/health"
COMMAND = "/usr/local/sbin/slurmpod-health"
EXPECTATIONS = "/etc/slurmpod/health.json"

COMMAND_TEXT = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts; Slurm's programs have no PATH.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd / || exit  # Python finds modules where it starts: that must be no folder of a user's
PYTHONPATH={FOLDER} PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 -m slurmpod_health "$@"
"""

UNHEALTHY = 3
"""The exit status of the checks for a bad node."""

SECONDS = 20
"""The time limit: more than the checks and their Slurm commands need if all time out."""

TIME_LIMIT = "PrologEpilogTimeout"
MOST_SECONDS = 120
"""How long slurmd waits for these and other programs; less than SlurmdTimeout (300 s)."""

_CALL = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts; slurm.conf names it by a pattern.
# Slurm drains a node whose program fails: only a finding may do that, not a bug in the program.
[ -x {COMMAND} ] || exit 0
/usr/bin/timeout --kill-after=1 {SECONDS} {COMMAND} {{option}}
"""


def prolog() -> str:
    """Return the program that runs before jobs: no job starts on a bad node."""
    return f"{_CALL.format(option='--prolog')}[ $? -ne {UNHEALTHY} ]\n"


def epilog() -> str:
    """Return the program that runs after jobs: it finds faults before the next job does."""
    return f"{_CALL.format(option='--epilog')}exit 0\n"


def parameters(given: Collection[str]) -> list[str]:
    """Return the lines for slurm.conf, except for parameters that are `given`.

    A user's own programs have no time limit from us: it is for the user to set one.
    """
    names = {name.lower() for name in given}
    lines = [f"Prolog={PROLOG_OR_NOTHING}", f"Epilog={EPILOG_OR_NOTHING}"]
    if names.isdisjoint({"prolog", "epilog", TIME_LIMIT.lower()}):
        lines.append(f"{TIME_LIMIT}={MOST_SECONDS}")
    return lines


def worker_programs() -> dict[str, str]:
    """Return the programs of a worker by path, with COMMAND last: without it nothing is checked."""
    return {PROLOG: prolog(), EPILOG: epilog(), COMMAND: COMMAND_TEXT}
