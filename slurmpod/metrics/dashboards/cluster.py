"""The dashboard of nodes: their state in Slurm, and how busy they are."""

from __future__ import annotations

from slurmpod.metrics.alerts import GONE
from slurmpod.metrics.check_panels import CHECK_PANELS
from slurmpod.metrics.panel import Dashboard, Form, Panel, Subject

CLUSTER = Dashboard(
    "slurmpod-cluster",
    "Cluster",
    "Nodes: their state in Slurm, and how busy they are.",
    (
        Panel(
            "slurmctld answers",
            {"up": "max(slurmpod_slurmctld_up)"},
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes",
            {"nodes": "sum(slurm:nodes:count)"},
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes down",
            {"down": f'sum(slurm:nodes:count{{state=~"{GONE}"}}) or vector(0)'},
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes that send metrics",
            {"nodes": 'count(max by (node) (up{job="node"}))'},
            form=Form.NUMBER,
        ),
        Panel(
            "Nodes by state",
            {"{{state}}": "slurm:nodes:count"},
            form=Form.STACK,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "CPUs by use",
            {"{{use}}": "slurm:cpus:sum"},
            form=Form.STACK,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "CPU utilization",
            {"{{node}}": 'node:cpu_busy:ratio{node=~"$node"}'},
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Memory in use",
            {
                "{{node}}": (
                    '1 - node_memory_MemAvailable_bytes{node=~"$node"}'
                    ' / node_memory_MemTotal_bytes{node=~"$node"}'
                )
            },
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Network",
            {
                "{{node}} in": (
                    "sum by (node)"
                    ' (rate(node_network_receive_bytes_total{node=~"$node"}[$__rate_interval]))'
                ),
                "{{node}} out": (
                    "-sum by (node)"
                    ' (rate(node_network_transmit_bytes_total{node=~"$node"}[$__rate_interval]))'
                ),
            },
            unit="Bps",
        ),
        Panel("Load", {"{{node}}": 'node_load1{node=~"$node"}'}),
        Panel(
            "Clock offset from network time",
            {"{{node}}": 'node_timex_offset_seconds{node=~"$node"}'},
            unit="s",
        ),
        Panel(
            "Time since boot",
            {"{{node}}": 'time() - node_boot_time_seconds{node=~"$node"}'},
            unit="s",
        ),
        *CHECK_PANELS,
    ),
)
