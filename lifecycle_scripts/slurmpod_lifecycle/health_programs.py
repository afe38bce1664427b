"""The programs of the health checks: what Slurm calls, and what administrators do.

Slurm hands its Prolog and Epilog to configless nodes when they lie beside slurm.conf and are named
without a path (slurm.conf(5), enable_configless). So they are small scripts of the controller's,
which do nothing on a node that has no checks of its own yet: HyperPod may start slurmd before the
node's scripts ran. Several Prolog lines are all run: those of the image and of the user stay.
"""

from __future__ import annotations

from slurmpod_lifecycle import slurm

PROLOG = "slurmpod-prolog"
EPILOG = "slurmpod-epilog"

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

_CALL = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts; slurmd gets it from the controller.
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


def controller_files() -> dict[str, str]:
    """Return the programs that the controller hands out, by path."""
    texts = {PROLOG: prolog(), EPILOG: epilog()}
    return {f"{slurm.CONFIGURATION}/{name}": text for name, text in texts.items()}
