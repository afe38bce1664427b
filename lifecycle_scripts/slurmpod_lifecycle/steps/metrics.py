"""Metrics of this node, sent to the environment's workspace: two exporters and an agent.

Nobody's jobs need them: a node without metrics is reported and works. An image that has the
packages is used as it is; otherwise they are installed, unless the network is closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import slurmpod_exporter
from slurmpod_lifecycle import metrics_services, units
from slurmpod_lifecycle.failures import NotYet, StepFailed
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.packages import install
from slurmpod_lifecycle.settings import Metrics as MetricsSettings
from slurmpod_lifecycle.settings import Role

PACKAGES = ("prometheus", "prometheus-node-exporter")
"""Debian's and Ubuntu's; each has a service of its name, which is not used."""

PROGRAMS = (metrics_services.PROMETHEUS, metrics_services.PROMETHEUS_NODE_EXPORTER)
PORTS = {
    metrics_services.NODE_EXPORTER: metrics_services.NODE_EXPORTER_PORT,
    metrics_services.AGENT: metrics_services.AGENT_PORT,
}


class Metrics(NodeStep):
    """The services for metrics run."""

    name = "metrics"
    roles = frozenset(Role)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Tell whether the environment asks for metrics."""
        return super().applies_to(node) and node.settings.metrics is not None

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return that all files go, the services first, the one that sends before the others."""
        del machine
        services = reversed(metrics_services.SERVICES)
        paths = (
            *map(units.unit_path, services),
            metrics_services.AGENT_CONFIGURATION,
            *_exporter(),
        )
        return dict.fromkeys(paths)

    def is_done(self) -> bool:
        """Tell whether all services run as they should."""
        machine, files = self.node.machine, self._files()
        return (
            all(machine.read(path) == text for path, text in files.items())
            and all(units.is_running(machine, unit) for unit in self._units())
            and all(machine.answers("127.0.0.1", port) for port in PORTS.values())
        )

    def apply(self) -> str:
        """Install what is missing, write the files and start the services.

        Services stop before their files change: whatever interrupts this, none of them goes on with
        files of yesterday.
        """
        machine = self.node.machine
        if not self._has_programs():
            self._install()
        machine.run("install", "--directory", "--mode=755", metrics_services.TEXT_FILES)
        self._write_files()
        for unit in self._units():
            units.start(machine, unit)
        for unit, port in PORTS.items():
            if not machine.answers("127.0.0.1", port):
                reason = f"{unit} does not answer: {units.last_error(machine, unit)}"
                raise NotYet(reason, f"run 'journalctl -u {unit}' on the node")
        return f"metrics go to {self._settings().remote_write_url}"

    def _write_files(self) -> None:
        machine, files = self.node.machine, self._files()
        if any(machine.read(path) != text for path, text in files.items()):
            machine.succeeds("systemctl", "stop", *self._units())
            for path, text in files.items():
                machine.write(path, text)
        units.reload_if_needed(machine, *self._units())

    def _has_programs(self) -> bool:
        return all(self.node.machine.succeeds("test", "-x", program) for program in PROGRAMS)

    def _install(self) -> None:
        """Install the packages; their services never start, ours are others."""
        machine = self.node.machine
        if not self._settings().may_install:
            raise StepFailed(
                f"this image has no {' and no '.join(PROGRAMS)}, and the network is closed",
                f"install {' and '.join(PACKAGES)} in a custom image (image_id of the group)",
            )
        machine.run("systemctl", "mask", *PACKAGES)
        install(machine, *PACKAGES)

    def _files(self) -> Mapping[str, str]:
        """Return the exporter, the units and the agent's configuration, by path."""
        settings = self._settings()
        return {
            **_exporter(),
            metrics_services.AGENT_CONFIGURATION: metrics_services.agent_configuration(
                self.node, settings
            ),
            **{units.unit_path(unit): text for unit, text in self._units().items()},
        }

    def _units(self) -> Mapping[str, str]:
        """Return the unit files by the names of the units, in the order in which they start."""
        return {
            metrics_services.EXPORTER: metrics_services.exporter_unit(self.node, self._settings()),
            metrics_services.NODE_EXPORTER: metrics_services.node_exporter_unit(),
            metrics_services.AGENT: metrics_services.agent_unit(),
        }

    def _settings(self) -> MetricsSettings:
        assert self.node.settings.metrics  # noqa: S101  # `applies_to` has looked
        return self.node.settings.metrics


def _exporter() -> dict[str, str]:
    """Return our exporter's files: the bundle's copy does not outlive a reboot."""
    package = Path(slurmpod_exporter.__file__).parent
    return {
        f"{metrics_services.EXPORTER_FOLDER}/{path.relative_to(package.parent).as_posix()}": (
            path.read_text(encoding="utf-8")
        )
        for path in sorted(package.rglob("*.py"))
    }
