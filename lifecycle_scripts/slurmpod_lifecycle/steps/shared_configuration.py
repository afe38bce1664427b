"""Several controllers: Slurm's configuration is the same on all, whichever HyperPod writes to.

A controller that takes over reads its own files. HyperPod's agent may write those of one only. Each
controller checks every few seconds for changes: it publishes its own changes in its own folder,
readable for all, and of all published files it takes the latest. So two controllers that run at the
same moment never write to each other's files, and arrive at the same result.
"""

from __future__ import annotations

import shlex

from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.slurm_files import IN_FORCE
from slurmpod_lifecycle.steps.shared_state import shared_folder
from slurmpod_lifecycle.timers import TimedProgram

SECONDS = 15
KEPT = "/var/lib/slurmpod/shared-configuration"
"""The contents of the files when this controller and the shared folder last agreed."""

OF_HYPERPOD = "gres.conf cgroup.conf plugstack.conf topology.conf topology.yaml slurm.conf"
"""slurm.conf is the last: when it changes, its keeper makes slurmctld read all of them."""

KEEP = "systemctl start slurmpod-keep"

PROGRAM = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: keeps the controllers' configuration the same.
set -u
shared={{shared}}
own={slurm.CONFIGURATION}
kept={KEPT}
handed_out=$shared/$(uname -n)
mkdir -p "$handed_out" "$kept" || exit 1
[ -e $own/slurm.conf ] || exit 0
[ -z "$(find $own/slurm.conf -newermt '-5 seconds')" ] || exit 0 # still being written
put() {{{{
    cp --preserve=mode,ownership,timestamps "$1" "$2.$$" && mv "$2.$$" "$2"
}}}}
find_last() {{{{
    last=
    for each in "$shared"/*/"$name"; do
        [ -e "$each" ] || continue
        [ "$last" ] && ! [ "$each" -nt "$last" ] || last=$each
    done
}}}}
hand_out() {{{{
    find_last
    seconds=
    if [ "$last" ] && cmp -s "$last" "$kept/$name"; then
        seconds=$(stat --format=%Y "$last")
    fi
    put "$own/$name" "$handed_out/$name" && put "$own/$name" "$kept/$name" || return
    # It must be the latest, even if this controller's clock is behind another's.
    if [ "$seconds" ] && [ "$(stat --format=%Y "$handed_out/$name")" -le "$seconds" ]; then
        touch --date="@$((seconds + 1))" "$handed_out/$name"
    fi
}}}}
take() {{{{
    rm -f {IN_FORCE} # slurmctld has not read what follows
    put "$1" "$own/$name" && put "$1" "$kept/$name" && took=yes
    echo "took $name of $(basename "$(dirname "$1")")"
}}}}
took=
for name in {OF_HYPERPOD}; do
    if [ -e "$own/$name" ] && ! cmp -s "$own/$name" "$kept/$name"; then
        hand_out
    fi
    find_last
    if [ "$last" ] && ! cmp -s "$last" "$own/$name"; then
        take "$last"
    fi
done
[ "$took" ] || exit 0
{KEEP} # it may run already, and have looked before
[ -e {IN_FORCE} ] || {KEEP}
"""


class SharedConfiguration(NodeStep):
    """A timer keeps the controllers' files the same."""

    name = "shared_configuration"
    roles = frozenset({Role.CONTROLLER})
    modes = frozenset({Mode.CUSTOMER})
    needs = ("shared_state", "slurmctld")

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is one of several controllers."""
        return super().applies_to(node) and node.settings.multi_head is not None

    def is_done(self) -> bool:
        """Return whether the timer runs the current program."""
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
    """Return the script; the published files are next to the state that the controllers share."""
    folder = f"{state_folder.rpartition('/')[0]}/etc"
    return PROGRAM.format(shared=shlex.quote(folder))
