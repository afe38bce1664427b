"""The three services behind a node's metrics, as unit files, and what the agent is told.

All listen on the node itself only, on ports that packaged services do not use: an image may have
some of its own. Nothing is asked over the network, so that no port is open between nodes and no
list of nodes has to be kept: each node sends its own metrics, from its first minute to its last.
"""

from __future__ import annotations

import json
from typing import Any

from slurmpod_lifecycle import units
from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.settings import Metrics, Role

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
"""The metrics that are sent: each costs, and a node exporter has several for every processor."""

WITHOUT_PRIVILEGES = "NoNewPrivileges=yes\nPrivateTmp=yes\nProtectHome=yes\nProtectSystem=strict"


def agent_configuration(node: Node, metrics: Metrics) -> str:
    """Return what the agent is told, as JSON, which is YAML too.

    It is Prometheus with little history: the agent mode of later versions is missing from the one
    that Ubuntu 22.04 has. Its local history serves for looking at a node by hand.
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
    """Return whose metrics they are."""
    return {
        "cluster": node.settings.cluster_name,
        "group": node.instance.group,
        "instance_id": node.instance.id,
        "node": node.name,
        "role": node.role.value,
    }


def _relabelling() -> list[dict[str, Any]]:
    """Keep the metrics in use, and of processors only how long they were idle."""
    busy = "node_cpu_seconds_total;(iowait|irq|nice|softirq|steal|system|user)"
    return [
        {"source_labels": ["__name__"], "regex": KEPT, "action": "keep"},
        {"source_labels": ["__name__", "mode"], "regex": busy, "action": "drop"},
    ]


def exporter_unit(node: Node, metrics: Metrics) -> str:
    """Return our own exporter's unit: as root, because Lustre and the kernel's log ask for it."""
    words = ["/usr/bin/python3", "-m", "slurmpod_exporter", f"{TEXT_FILES}/slurmpod.prom"]
    words += [f"--every={metrics.scrape_seconds}"]
    words += ["--controller"] * (node.role is Role.CONTROLLER)
    own = f"WorkingDirectory={EXPORTER_FOLDER}\nReadWritePaths={TEXT_FILES}"
    return _unit("Metrics of Slurm, accelerators, EFA and Lustre", words, own)


def node_exporter_unit() -> str:
    """Return the node exporter's unit, with the collectors that are in use."""
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
    """Return the unit of the agent that collects from the exporters and sends."""
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
    """Return a unit that starts again whatever happens, and leaves the processors to jobs."""
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
