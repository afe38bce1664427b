"""A standalone program: nodes that are back take jobs again. `node_state` is in its folder.

With ReturnToService=1, as HyperPod sets it, slurmctld keeps a node down after a reboot, and also
one that was set down for its replacement: someone has to resume it (slurm.conf(5)). A timer on the
controller runs this program. A state that Slurm itself or HyperPod caused ends with the boot that
followed; one that a person has set is never touched.
"""

from __future__ import annotations

import subprocess
import sys

from slurmpod_health.node_state import read_state

SCONTROL = "/opt/slurm/bin/scontrol"
SECONDS = 60
HELD = {"DOWN", "FAIL", "FAILING"}
AWAY = {"NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "REBOOT_ISSUED"}

REBOOTED = "Node unexpectedly rebooted"
"""slurmctld sets it when the node registers after the boot."""

OF_SLURM = {REBOOTED, "Not responding"}
OF_HYPERPOD = ("Action:Replace", "Action:Reboot")


def main() -> int:
    """Resume every node that is back, print their names, and return the exit status."""
    try:
        names = ",".join(filter(None, map(returned, _scontrol("show", "node").splitlines())))
        if names:
            _scontrol("update", f"nodename={names}", "state=resume")
            sys.stdout.write(f"back, and taking jobs again: {names}\n")
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"{getattr(error, 'stderr', '') or error}\n")
        return 1
    return 0


def returned(description: str) -> str:
    """Return the name of a node that is still held down although the cause is over, else nothing.

    `description` is its line of `scontrol --oneliner show node`.
    """
    state = read_state(description)
    if not (state and state.boot and state.since):
        return ""
    if not state.words & HELD or state.words & AWAY:
        return ""
    is_over = state.reason.endswith(REBOOTED) or state.boot > state.since
    return state.name if is_over and not is_decision(state.reason) else ""


def is_decision(reason: str) -> bool:
    """Return whether a person, or a Slurm check, contributed to a reason.

    slurmctld appends its own reason to an existing one behind ` : `.
    """
    causes = reason.split(" : ")
    return not all(each in OF_SLURM or each.startswith(OF_HYPERPOD) for each in causes)


def _scontrol(*words: str) -> str:
    command = (SCONTROL, "--oneliner", *words)
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
