"""Several controllers: their common state is in one folder of a shared file system.

slurm.conf belongs to HyperPod and names the image's folder for it. Each controller's slurmctld sees
the shared folder there through a private mount. The first controller in slurm.conf is active, the
others take over when it is gone (Slurm's quick start for administrators, high availability).
"""

from __future__ import annotations

import shlex

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Mode, MultiHead, Role

STATE_SAVE_LOCATION = "/var/spool/slurmctld"
"""HyperPod's setting in slurm.conf."""

TAKEOVER_PROGRAM = "/usr/local/sbin/slurmpod-takeover"
"""The program that slurmctld runs on the controller that takes over, if there is a topic."""


class SharedState(NodeStep):
    """The controllers' common folder, and slurmctld bound to it."""

    name = "shared_state"
    roles = frozenset({Role.CONTROLLER})
    modes = frozenset({Mode.CUSTOMER})
    needs = ("mount_fsx",)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is one of several controllers."""
        return super().applies_to(node) and node.settings.multi_head is not None

    def is_done(self) -> bool:
        """Return whether slurmctld is bound to the folder, and the folder exists."""
        machine, folder = self.node.machine, shared_folder(self.node)
        bound = machine.read(units.drop_in_path("slurmctld")) == drop_in(folder)
        notifies = machine.read(TAKEOVER_PROGRAM) == takeover_program(self.node)
        is_known = not units.is_outdated(machine, "slurmctld")
        return bound and is_known and notifies and machine.succeeds("test", "-d", folder)

    def apply(self) -> str:
        """Create the folder, owned by Slurm, and bind slurmctld to it."""
        machine, folder = self.node.machine, shared_folder(self.node)
        ownership = (f"--owner={slurm.USER}", f"--group={slurm.USER}", "--mode=700")
        machine.run("install", "--directory", *ownership, folder)
        machine.write(TAKEOVER_PROGRAM, takeover_program(self.node), mode=0o755)
        units.add_drop_in(machine, "slurmctld", drop_in(folder))
        return f"the controllers share their state in {folder}"


def shared_folder(node: Node) -> str:
    """Return the folder of this cluster's controllers."""
    return f"{_multi_head(node).shared_directory}/slurmpod/{node.settings.cluster_name}/state"


def drop_in(folder: str) -> str:
    """Return the unit lines that mount the folder at the path that slurm.conf names."""
    return f"""\
[Unit]
RequiresMountsFor={folder}

[Service]
BindPaths={folder}:{STATE_SAVE_LOCATION}
"""


def takeover_program(node: Node) -> str:
    """Return the script that notifies the topic of a takeover; without a topic it does nothing.

    It runs as the user `slurm`, with the node's own role.
    """
    topic = _multi_head(node).sns_topic_arn
    if not topic:
        return "#!/bin/sh\nexit 0\n"
    message = f"{node.name} is now the active Slurm controller of {node.settings.cluster_name}"
    command = ("aws", "sns", "publish", "--region", topic.split(":")[3], "--topic-arn", topic)
    return f"#!/bin/sh\nexec {shlex.join((*command, '--message', message))}\n"


def _multi_head(node: Node) -> MultiHead:
    assert node.settings.multi_head  # noqa: S101  # checked by `applies_to`
    return node.settings.multi_head
