"""Several controllers: Slurm's configuration is the same on all, whichever HyperPod has written to.

A controller that takes over reads its own files. HyperPod's agent may write those of one only. Each
controller looks every few seconds what has changed: what is its own news it hands out, in a folder
of its own that all can read, and of what all have handed out it takes what was written last. So two
that look in the same moment write to no file of one another, and come to the same in the end.
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
"""What the files said when this controller and the shared folder last agreed."""

OF_HYPERPOD = "gres.conf cgroup.conf plugstack.conf topology.conf topology.yaml slurm.conf"
"""slurm.conf is the last: when it changes, its keeper lets slurmctld read all of them."""

KEEP = "systemctl start slurmpod-keep"

PROGRAM = f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: controllers have the same configuration.
set -u
shared={{shared}}
own={slurm.CONFIGURATION}
kept={KEPT}
handed_out=$shared/$(uname -n)
mkdir -p "$handed_out" "$kept" || exit 1
[ -e $own/slurm.conf ] || exit 0
[ -z "$(find $own/slurm.conf -newermt '-5 seconds')" ] || exit 0 # somebody is writing
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
    # It follows on what was last, even where this controller's clock is behind another's.
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
        """Return whether the timer runs, and starts this very program."""
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
    """Return the script; what is handed out lies beside the state that the controllers share."""
    folder = f"{state_folder.rpartition('/')[0]}/etc"
    return PROGRAM.format(shared=shlex.quote(folder))
