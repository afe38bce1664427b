"""The programs of the health checks: what Slurm calls, and what administrators do.

slurm.conf names a Prolog and an Epilog for all nodes alike, but they are on a worker's disk only
when its scripts have run; HyperPod may let jobs start before. Slurm drains a node whose Prolog is
missing. So the names are patterns, which Slurm expands on the node at each job: each matches a
program that does nothing and is everywhere, and ours once it is there. No other name fits them.

Slurm could hand out the programs itself, from beside slurm.conf, as it does without a path. It
would write them anew at every reconfiguration, without a look at what they say. Linux starts no
program that somebody has open to write, and slurmd's children have all that it has open until they
start their own program: the Prolog of a job that starts in that moment fails, and Slurm drains the
node.

slurmd starts itself anew at a reconfiguration. It waits for programs that run, but gives up after
MessageTimeout (10 s), and the job with them, unless slurm.conf says how long they may take.

Several Prolog lines are all run: those of the image and of the user stay.
"""

from __future__ import annotations

from collections.abc import Collection

NOTHING = "/usr/bin/true"
"""A program that is on every node before slurmd is, and does nothing."""

PROLOG = "/usr/bin/truP"
EPILOG = "/usr/bin/truE"
PROLOG_OR_NOTHING = "/usr/bin/tru[eP]"
EPILOG_OR_NOTHING = "/usr/bin/tru[eE]"
"""What slurm.conf says (glob(7)): NOTHING, and ours on nodes that have it."""

FOLDER = "/opt/slurmpod/health"
COMMAND = "/usr/local/sbin/slurmpod-health"
EXPECTATIONS = "/etc/slurmpod/health.json"

COMMAND_TEXT = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts; Slurm gives its programs no PATH.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd / || exit  # Python finds modules where it starts: that must be no folder of a user's
PYTHONPATH={FOLDER} PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 -m slurmpod_health "$@"
"""

UNHEALTHY = 3
"""The status by which the checks say that the node is bad."""

SECONDS = 20
"""More than the checks and their commands of Slurm need when all of them take too long."""

TIME_LIMIT = "PrologEpilogTimeout"
MOST_SECONDS = 120
"""How long slurmd waits for these programs, and others; less than SlurmdTimeout (300 s)."""

_CALL = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts; slurm.conf names it by a pattern.
# Slurm drains a node whose program fails: only a finding may do that, no mistake of the program's.
[ -x {COMMAND} ] || exit 0
/usr/bin/timeout --kill-after=1 {SECONDS} {COMMAND} {{option}}
"""


def prolog() -> str:
    """Return the program that runs before jobs: a job does not start on a bad node."""
    return f"{_CALL.format(option='--prolog')}[ $? -ne {UNHEALTHY} ]\n"


def epilog() -> str:
    """Return the program that runs after jobs: it finds faults before the next job does."""
    return f"{_CALL.format(option='--epilog')}exit 0\n"


def parameters(given: Collection[str]) -> list[str]:
    """Return the lines of slurm.conf beside those for the parameters that are `given`.

    Programs of the user's may take as long as they like: how long, is then for the user to say.
    """
    names = {name.lower() for name in given}
    lines = [f"Prolog={PROLOG_OR_NOTHING}", f"Epilog={EPILOG_OR_NOTHING}"]
    if names.isdisjoint({"prolog", "epilog", TIME_LIMIT.lower()}):
        lines.append(f"{TIME_LIMIT}={MOST_SECONDS}")
    return lines


def worker_programs() -> dict[str, str]:
    """Return the programs of a worker by path, COMMAND last: without it, nothing is checked."""
    return {PROLOG: prolog(), EPILOG: epilog(), COMMAND: COMMAND_TEXT}
