"""Metrics of this node, sent to the environment's workspace: two exporters and an agent.

No job needs them: a node without metrics is reported and works. An image that has the packages is
used as it is; otherwise they are installed, unless the network is closed.

All three services listen on the node itself only, on ports that packaged services do not use: an
image may have its own. Nothing is collected over the network, so that no port is open between nodes
and no list of nodes has to be maintained: each node sends its own metrics, from its first minute to
its last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import slurmpod_exporter
from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.packages import install
from slurmpod_lifecycle.settings import Metrics as MetricsSettings
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet, StepFailed

EXPORTER = "slurmpod-exporter"
NODE_EXPORTER = "slurmpod-node-exporter"
AGENT = "slurmpod-metrics-agent"
SERVICES = (EXPORTER, NODE_EXPORTER, AGENT)
"""In the order in which they start."""

PROMETHEUS = "/usr/bin/prometheus"
PROMETHEUS_NODE_EXPORTER = "/usr/bin/prometheus-node-exporter"
EXPORTER_FOLDER = "/usr/local/lib/slurmpod"
TEXT_FILES = "/var/lib/slurmpod/metrics"
AGENT_CONFIGURATION = "/etc/slurmpod/prometheus.yml"
NODE_EXPORTER_PORT = 19100
AGENT_PORT = 19090

NODE_EXPORTER_COLLECTORS = (
    "cpu",
    "diskstats",
    "filesystem",
    "loadavg",
    "meminfo",
    "netdev",
    "stat",
    "textfile",
    "timex",
    "vmstat",
)
HIDDEN_MOUNTS = "^/(dev|proc|run|sys|boot|snap|var/lib/docker|var/lib/containerd)($|/)"
HIDDEN_FILE_SYSTEMS = (
    "^(autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl|hugetlbfs|mqueue|"
    "nsfs|proc|pstore|ramfs|rpc_pipefs|securityfs|squashfs|sysfs|tmpfs|tracefs)$"
)

KEPT = (
    "node_boot_time_seconds|node_cpu_seconds_total|node_disk_(io_time_seconds|(read|written)_bytes)"
    "_total|node_filesystem_((avail|size)_bytes|readonly)|node_load1|"
    "node_memory_(MemAvailable|MemTotal)_bytes|node_network_(receive|transmit)_bytes_total|"
    "node_textfile_mtime_seconds|node_timex_(offset_seconds|sync_status)|node_vmstat_oom_kill|"
    "slurmpod_.+|DCGM_FI_PROF_.+"
)
"""The metrics that are sent: each one costs, and a node exporter has several per processor."""

WITHOUT_PRIVILEGES = "NoNewPrivileges=yes\nPrivateTmp=yes\nProtectHome=yes\nProtectSystem=strict"

PACKAGES = ("prometheus", "prometheus-node-exporter")
"""The packages of Debian and Ubuntu; each has a service of the same name, which is not used."""

PROGRAMS = (PROMETHEUS, PROMETHEUS_NODE_EXPORTER)
PORTS = {
    NODE_EXPORTER: NODE_EXPORTER_PORT,
    AGENT: AGENT_PORT,
}


def agent_configuration(node: Node, metrics: MetricsSettings) -> str:
    """Return the agent's configuration as JSON, which is also YAML.

    The agent is Prometheus with a short history: Ubuntu 22.04's version lacks the agent mode of
    later ones. The local history is for inspecting a node by hand.
    """
    configuration = {
        "global": {
            "scrape_interval": f"{metrics.scrape_seconds}s",
            "external_labels": _labels(node),
        },
        "scrape_configs": [
            {
                "job_name": "node",
                "static_configs": [{"targets": [f"127.0.0.1:{NODE_EXPORTER_PORT}"]}],
                "metric_relabel_configs": _relabelling(),
            }
        ],
        "remote_write": [
            {
                "url": metrics.remote_write_url,
                "sigv4": {"region": node.settings.region},
                "queue_config": {"max_shards": 2},
            }
        ],
    }
    return json.dumps(configuration, indent=2) + "\n"


def _labels(node: Node) -> dict[str, str]:
    """Return the labels that identify the node."""
    return {
        "cluster": node.settings.cluster_name,
        "group": node.instance.group,
        "instance_id": node.instance.id,
        "node": node.name,
        "role": node.role.value,
    }


def _relabelling() -> list[dict[str, Any]]:
    """Keep the metrics in use, and of processors only the idle time."""
    busy = "node_cpu_seconds_total;(iowait|irq|nice|softirq|steal|system|user)"
    return [
        {"source_labels": ["__name__"], "regex": KEPT, "action": "keep"},
        {"source_labels": ["__name__", "mode"], "regex": busy, "action": "drop"},
    ]


def exporter_unit(node: Node, metrics: MetricsSettings) -> str:
    """Return the unit of our exporter, which runs as root for Lustre and the kernel's log."""
    words = ["/usr/bin/python3", "-m", "slurmpod_exporter", f"{TEXT_FILES}/slurmpod.prom"]
    words += [f"--every={metrics.scrape_seconds}"]
    words += ["--controller"] * (node.role is Role.CONTROLLER)
    own = f"WorkingDirectory={EXPORTER_FOLDER}\nReadWritePaths={TEXT_FILES}"
    return _unit("Metrics of Slurm, accelerators, EFA and Lustre", words, own)


def node_exporter_unit() -> str:
    """Return the node exporter's unit, with the collectors in use."""
    words = [
        PROMETHEUS_NODE_EXPORTER,
        "--collector.disable-defaults",
        *(f"--collector.{name}" for name in NODE_EXPORTER_COLLECTORS),
        f"--collector.textfile.directory={TEXT_FILES}",
        f"--collector.filesystem.mount-points-exclude={HIDDEN_MOUNTS}",
        f"--collector.filesystem.fs-types-exclude={HIDDEN_FILE_SYSTEMS}",
        "--collector.netdev.device-exclude=^(lo|docker.*|br-.*|veth.*)$",
        "--web.disable-exporter-metrics",
        f"--web.listen-address=127.0.0.1:{NODE_EXPORTER_PORT}",
    ]
    return _unit("Metrics of the node", words, "User=prometheus")


def agent_unit() -> str:
    """Return the unit of the agent that scrapes the exporters and sends the metrics."""
    words = [
        PROMETHEUS,
        f"--config.file={AGENT_CONFIGURATION}",
        f"--storage.tsdb.path=/var/lib/{AGENT}",
        "--storage.tsdb.retention.time=6h",
        f"--web.listen-address=127.0.0.1:{AGENT_PORT}",
    ]
    own = f"User=prometheus\nStateDirectory={AGENT}"
    return _unit("Sends the node's metrics to the environment's workspace", words, own)


def _unit(description: str, words: list[str], own: str) -> str:
    """Return a unit that always restarts and leaves the processors to jobs."""
    return f"""\
# Written by slurmpod's lifecycle scripts.
[Unit]
Description={description}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={" ".join(map(units.quoted, words))}
{own}
{WITHOUT_PRIVILEGES}
Nice=19
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
"""


class Metrics(NodeStep):
    """The services for metrics run."""

    name = "metrics"
    roles = frozenset(Role)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables metrics."""
        return super().applies_to(node) and node.settings.metrics is not None

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return the removal of all files, the services first, of which the agent is the first."""
        del machine
        services = reversed(SERVICES)
        paths = (
            *map(units.unit_path, services),
            AGENT_CONFIGURATION,
            *_exporter(),
        )
        return dict.fromkeys(paths)

    def is_done(self) -> bool:
        """Return whether all services run as they should."""
        machine, files = self.node.machine, self._files()
        return (
            all(machine.read(path) == text for path, text in files.items())
            and all(units.is_running(machine, unit) for unit in self._units())
            and all(machine.answers("127.0.0.1", port) for port in PORTS.values())
        )

    def apply(self) -> str:
        """Install what is missing, write the files and start the services.

        Services stop before their files change: an interruption never leaves one of them running
        with an outdated file.
        """
        machine = self.node.machine
        if not self._has_programs():
            self._install()
        machine.run("install", "--directory", "--mode=755", TEXT_FILES)
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
        """Install the packages; their own services never start, ours are separate."""
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
            AGENT_CONFIGURATION: agent_configuration(self.node, settings),
            **{units.unit_path(unit): text for unit, text in self._units().items()},
        }

    def _units(self) -> Mapping[str, str]:
        """Return the unit files by unit name, in the order in which they start."""
        return {
            EXPORTER: exporter_unit(self.node, self._settings()),
            NODE_EXPORTER: node_exporter_unit(),
            AGENT: agent_unit(),
        }

    def _settings(self) -> MetricsSettings:
        assert self.node.settings.metrics  # noqa: S101  # checked by `applies_to`
        return self.node.settings.metrics


def _exporter() -> dict[str, str]:
    """Return our exporter's files, copied because the bundle does not outlive a reboot."""
    package = Path(slurmpod_exporter.__file__).parent
    return {
        f"{EXPORTER_FOLDER}/{path.relative_to(package.parent).as_posix()}": (
            path.read_text(encoding="utf-8")
        )
        for path in sorted(package.rglob("*.py"))
    }
