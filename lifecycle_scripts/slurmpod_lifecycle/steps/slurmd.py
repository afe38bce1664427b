"""The node daemon of login and worker nodes: it fetches its configuration from the controller.

A login node runs it too: commands there use the configuration that it keeps.

Jobs may start as soon as it runs, on a replaced node those that are waiting for it. So it starts
after what they need: without scratch they would write to the root disk. Some of that is optional;
then it starts when the step has ended or timed out.

The node lines of a group that UpdateCluster added appear in slurm.conf some minutes after the
scripts of its nodes ended. Without its line slurmd exits at once; that is no failure, as systemd
restarts it until the node is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.units import knows_its_files

OPTIONS_PATH = "/etc/slurmpod/slurmd.env"


class Slurmd(NodeStep):
    """slurmd runs, configless, with the addresses of the controllers."""

    name = "slurmd"
    roles = frozenset({Role.LOGIN, Role.WORKER})
    modes = frozenset({Mode.CUSTOMER})
    needs = (
        "bar_daemons",
        "mount_fsx",
        "mount_s3",
        "users",
        "sssd",
        "homes",
        "ssh_between_nodes",
        "scratch",
        "containers",
        "container_folders",
        "docker",
        "job_bound_ssh",
        "health_checks",
        "neuron",
    )

    def is_done(self) -> bool:
        """Return whether it runs with the right controllers."""
        machine = self.node.machine
        is_written = machine.read(units.drop_in_path("slurmd")) == self._drop_in and machine.read(
            OPTIONS_PATH
        ) == options(self.node.controller_addresses())
        is_known = is_written and not units.is_outdated(machine, "slurmd")
        return is_known and units.is_running(machine, "slurmd")

    def apply(self) -> str:
        """Wait for a controller, then start the daemon."""
        machine, addresses = self.node.machine, self.node.controller_addresses()
        shown = " or ".join(f"{address}:{slurm.SLURMCTLD_PORT}" for address in addresses)
        if not any(machine.answers(address, slurm.SLURMCTLD_PORT) for address in addresses):
            raise NotYet(
                f"the controller does not answer at {shown}",
                "look at the controller's log: its slurmctld has to start first",
            )
        units.write_for(machine, "slurmd", OPTIONS_PATH, options(addresses))
        units.add_drop_in(machine, "slurmd", self._drop_in)
        try:
            units.start(machine, "slurmd", restart=not knows_its_files(machine, "slurmd"))
        except NotYet:
            if not_listed(machine):
                return f"warning: slurm.conf does not list {self.node.name} yet; slurmd retries"
            raise
        return f"slurmd gets its configuration from {shown}"

    @cached_property
    def _drop_in(self) -> str:
        folders = [each.mount_path for each in self.node.settings.file_systems]
        mounts = [units.mount_unit(self.node.machine, folder) for folder in folders]
        return drop_in(mounts)


def options(controller_addresses: Sequence[str]) -> str:
    """Return slurmd's options file, which names the controllers.

    The option is one word, which systemd passes on as one however the unit refers to it.
    """
    servers = ",".join(f"{address}:{slurm.SLURMCTLD_PORT}" for address in controller_addresses)
    return f"SLURMD_OPTIONS=--conf-server={servers}\n"


def not_listed(machine: Machine) -> bool:
    """Return whether slurmd stopped because slurm.conf has no node line for this node."""
    return "Unable to determine this slurmd's NodeName" in units.last_error(machine, "slurmd")


def drop_in(mount_units: Sequence[str]) -> str:
    """Return the additions to the image's unit of slurmd.

    It is restarted without a limit, and after a reboot not before the shared file systems. Images
    have their own file of options, which takes precedence over `Environment=`; of several files the
    last one counts (systemd.exec(5)). The fetched configuration stays where commands look for it
    after slurmd ends, as it does on a login node that slurm.conf does not list.
    """
    mounts = " ".join(mount_units)
    return f"""\
[Unit]
Wants={mounts}
After={mounts}
StartLimitIntervalSec=0

[Service]
EnvironmentFile={OPTIONS_PATH}
RuntimeDirectoryPreserve=yes
Restart=on-failure
RestartSec=5
"""
