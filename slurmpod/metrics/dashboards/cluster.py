"""Cluster: how many nodes work, and how much they do."""

from __future__ import annotations

from slurmpod.metrics.alerts import GONE
from slurmpod.metrics.panel import Dashboard, Form, Panel, Query, Subject

CLUSTER = Dashboard(
    "slurmpod-cluster",
    "Cluster",
    "Nodes: what Slurm thinks of them, and how busy they are.",
    (
        Panel(
            "slurmctld answers",
            (Query("max(slurmpod_slurmctld_up)", "up"),),
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes",
            (Query("sum(slurm:nodes:count)", "nodes"),),
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes down",
            (Query(f'sum(slurm:nodes:count{{state=~"{GONE}"}}) or vector(0)', "down"),),
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes that send metrics",
            (Query('count(max by (node) (up{job="node"}))', "nodes"),),
            form=Form.NUMBER,
        ),
        Panel(
            "Nodes by state",
            (Query("slurm:nodes:count", "{{state}}"),),
            form=Form.STACK,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "CPUs by use",
            (Query("slurm:cpus:sum", "{{use}}"),),
            form=Form.STACK,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Processors busy",
            (Query('node:cpu_busy:ratio{node=~"$node"}', "{{node}}"),),
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Memory in use",
            (
                Query(
                    '1 - node_memory_MemAvailable_bytes{node=~"$node"}'
                    ' / node_memory_MemTotal_bytes{node=~"$node"}',
                    "{{node}}",
                ),
            ),
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Network",
            (
                Query(
                    "sum by (node)"
                    ' (rate(node_network_receive_bytes_total{node=~"$node"}[$__rate_interval]))',
                    "{{node}} in",
                ),
                Query(
                    "-sum by (node)"
                    ' (rate(node_network_transmit_bytes_total{node=~"$node"}[$__rate_interval]))',
                    "{{node}} out",
                ),
            ),
            unit="Bps",
        ),
        Panel("Load", (Query('node_load1{node=~"$node"}', "{{node}}"),)),
        Panel(
            "Clocks: difference to the network's time",
            (Query('node_timex_offset_seconds{node=~"$node"}', "{{node}}"),),
            unit="s",
        ),
        Panel(
            "Time since boot",
            (Query('time() - node_boot_time_seconds{node=~"$node"}', "{{node}}"),),
            unit="s",
        ),
    ),
)
