"""Docker on workers and login nodes: to build images, and for jobs that start containers by hand.

HyperPod's image has it; others get the distribution's. Optional: pyxis works without it.

Docker changes its data folder only at a start, not by a reload (dockerd, "Daemon configuration
file"), and live-restore keeps no container over such a change. So running containers continue, and
the new folder is used from Docker's next start on. At a boot Docker waits for the disks of the
node: otherwise the folder would be created on the root disk, hidden by a mount.
"""

from __future__ import annotations

from slurmpod_lifecycle import units
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.packages import install
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.steps.container_folders import DISK_UNITS, base_of, docker_conf
from slurmpod_lifecycle.units import knows_its_files, write_for

CONFIGURATION = "/etc/docker/daemon.json"
PACKAGE = "docker.io"
DROP_IN = f"""\
# Written by slurmpod's lifecycle scripts.
[Unit]
After={DISK_UNITS}
"""


class Docker(NodeStep):
    """Docker runs, and keeps its images on the fastest disk, unless the image says where."""

    name = "docker"
    roles = frozenset({Role.LOGIN, Role.WORKER})
    needs = ("scratch",)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables containers."""
        return super().applies_to(node) and node.settings.node.containers

    def is_done(self) -> bool:
        """Return whether it runs as configured."""
        machine = self.node.machine
        is_written = (
            machine.read(CONFIGURATION) == self._configuration()
            and machine.read(units.drop_in_path("docker")) == DROP_IN
        )
        is_known = is_written and not units.is_outdated(machine, "docker")
        return is_known and units.is_running(machine, "docker")

    def apply(self) -> str:
        """Configure it, install it if it is missing, and start it.

        Raises StepFailed if it is not available.
        """
        machine = self.node.machine
        missing = not machine.succeeds("which", "docker")
        if missing and not self.node.settings.node.has_way_out:
            fix = "use a custom image (image_id of the group) that has Docker"
            raise StepFailed("this image has no Docker, and the network is closed", fix)
        machine.write(units.drop_in_path("docker"), DROP_IN)  # no reason to start it again
        units.reload_if_needed(machine, "docker")
        write_for(machine, "docker", CONFIGURATION, self._configuration())
        if missing:
            install(machine, PACKAGE)
        is_old = not knows_its_files(machine, "docker")
        is_in_use = is_old and self._has_containers()
        units.start(machine, "docker", restart=is_old and not is_in_use)
        if is_in_use:
            return "warning: containers run; Docker uses its new folder from its next start on"
        return f"{'added Docker' if missing else 'the image has Docker'}; it runs"

    def _has_containers(self) -> bool:
        """Return whether a restart would end running containers."""
        machine = self.node.machine
        is_up = machine.succeeds("systemctl", "is-active", "--quiet", "docker")
        return is_up and bool(machine.run("docker", "ps", "--quiet").strip())

    def _configuration(self) -> str:
        text = self.node.machine.read(CONFIGURATION) or ""
        base = base_of(self.node)
        try:
            return docker_conf(text, base)
        except ValueError as error:
            reason = f"{CONFIGURATION} is no JSON object: {error}"
            raise StepFailed(reason, "correct it by hand") from None
