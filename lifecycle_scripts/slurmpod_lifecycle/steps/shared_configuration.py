"""Several controllers: Slurm's configuration is the same on all, whichever HyperPod has written to.

A controller that takes over reads its own files. HyperPod's agent may write those of one only. Each
controller looks every few seconds what has changed: what is its own news it hands out through the
shared folder, what is another's it takes. Where both have news the one written last counts, for
both: a controller that looks for the first time must not hand out what is older than another's.
"""

from __future__ import annotations

import shlex

from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.slurm_files import KEEPER_PROGRAM
from slurmpod_lifecycle.steps.shared_state import shared_folder
from slurmpod_lifecycle.timers import TimedProgram

SECONDS = 15
KEPT = "/var/lib/slurmpod/shared-configuration"
"""What the files said when this controller and the shared folder last agreed."""

OF_HYPERPOD = "slurm.conf gres.conf cgroup.conf plugstack.conf topology.conf topology.yaml"

PROGRAM = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: controllers have the same configuration.
set -u
shared={{shared}}
own={slurm.CONFIGURATION}
kept={KEPT}
mkdir -p "$shared" "$kept" || exit 1
[ -e $own/slurm.conf ] || exit 0
[ -z "$(find $own/slurm.conf -newermt '-5 seconds')" ] || exit 0 # somebody is writing
put() {{{{
    cp --preserve=mode,ownership,timestamps "$1" "$2.$$" && mv "$2.$$" "$2"
}}}}
is_news() {{{{
    [ -e "$1/$name" ] && ! cmp -s "$1/$name" "$kept/$name"
}}}}
is_of_another() {{{{
    is_news "$shared" || return
    ! is_news "$own" || [ "$shared/$name" -nt "$own/$name" ]
}}}}
took=
for name in {OF_HYPERPOD}; do
    if is_of_another; then
        put "$shared/$name" "$own/$name" && put "$shared/$name" "$kept/$name" && took=yes
        echo "took $name of another controller"
    elif is_news "$own"; then
        put "$own/$name" "$shared/$name" && put "$own/$name" "$kept/$name"
    fi
done
[ "$took" ] || exit 0
[ ! -x {KEEPER_PROGRAM} ] || {KEEPER_PROGRAM}
! systemctl is-active --quiet slurmctld || {slurm.COMMANDS}/scontrol reconfigure
"""


class SharedConfiguration(NodeStep):
    """A timer keeps the controllers' files the same."""

    name = "shared_configuration"
    roles = frozenset({Role.CONTROLLER})
    modes = frozenset({Mode.CUSTOMER})
    needs = ("shared_state", "slurmctld")

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Tell whether this is one of several controllers."""
        return super().applies_to(node) and node.settings.multi_head is not None

    def is_done(self) -> bool:
        """Tell whether the timer runs, and starts this very program."""
        return self._program().is_done(self.node.machine)

    def apply(self) -> str:
        """Install the program, and start the timer."""
        self._program().start(self.node.machine)
        return f"controllers have the same configuration within {SECONDS} s"

    def _program(self) -> TimedProgram:
        return TimedProgram(
            "slurmpod-shared-configuration",
            "/usr/local/sbin/slurmpod-shared-configuration",
            program(shared_folder(self.node)),
            "sh",
            SECONDS,
        )


def program(state_folder: str) -> str:
    """Return the script; the files are beside the state that the controllers share."""
    folder = f"{state_folder.rpartition('/')[0]}/etc"
    return PROGRAM.format(shared=shlex.quote(folder))
