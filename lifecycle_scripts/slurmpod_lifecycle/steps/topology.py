"""slurmctld starts although HyperPod has named a topology without describing it.

HyperPod's agent may write TopologyPlugin=topology/tree, or block, and no topology.conf or an empty
one. slurmctld 24.11 then waits a minute and ends, or rejects all jobs with several nodes
("Requested topology configuration is not available"); 25.11 crashes at an empty topology.yaml. A
program before every start of slurmctld, and before it reads a changed slurm.conf, moves an empty
file aside and leaves the plugin out until there is a description; then HyperPod's own line is in
force again.
"""

from __future__ import annotations

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.slurm_files import TOPOLOGY_PROGRAM

DROP_IN_PATH = "/etc/systemd/system/slurmctld.service.d/slurmpod-topology.conf"
DROP_IN = f"""\
# Written by slurmpod's lifecycle scripts. The daemon starts even if this fails.
[Service]
ExecStartPre=-+{TOPOLOGY_PROGRAM}
"""

MARK = "# slurmpod, without a description of it: "
PROGRAM_TEXT = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: handles a topology without a description.
cd {slurm.CONFIGURATION} && [ -e slurm.conf ] || exit 0
for file in topology.yaml topology.conf; do
    if [ -e "$file" ] && ! grep -Evq '^[[:space:]]*(#.*)?$' "$file"; then
        mv "$file" "$file.empty"
        echo "slurmpod: $file was empty; it is $file.empty now"
    fi
done
plugin='TopologyPlugin[[:space:]]*=[[:space:]]*topology/(tree|block)'
if [ -e topology.yaml ] || [ -e topology.conf ]; then
    grep -Eiq "^{MARK}$plugin" slurm.conf || exit 0
    sed -Ei "s%^{MARK}($plugin)%\\1%I" slurm.conf
    echo "slurmpod: HyperPod describes the topology now; slurm.conf names it again"
elif grep -Eiq "^[[:space:]]*$plugin" slurm.conf; then
    sed -Ei "s%^[[:space:]]*($plugin)%{MARK}\\1%I" slurm.conf
    echo "slurmpod: slurm.conf names a topology that no file describes; it is left out"
fi
"""


class Topology(NodeStep):
    """A program handles an undescribed topology before slurmctld starts."""

    name = "topology"
    roles = frozenset({Role.CONTROLLER})
    modes = frozenset({Mode.CUSTOMER})
    needs = ("image_facts",)

    def is_done(self) -> bool:
        """Return whether the program and the drop-in are installed."""
        machine = self.node.machine
        written = (
            machine.read(TOPOLOGY_PROGRAM) == PROGRAM_TEXT and machine.read(DROP_IN_PATH) == DROP_IN
        )
        return written and not units.is_outdated(machine, "slurmctld")

    def apply(self) -> str:
        """Write both; the program logs to slurmctld's journal."""
        machine = self.node.machine
        machine.write(TOPOLOGY_PROGRAM, PROGRAM_TEXT, mode=0o755)
        machine.write(DROP_IN_PATH, DROP_IN)
        units.reload_if_needed(machine, "slurmctld")
        return "slurmctld starts without an undescribed topology"
