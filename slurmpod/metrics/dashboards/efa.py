"""EFA: the network between accelerated nodes."""

from __future__ import annotations

from slurmpod.metrics.panel import Dashboard, Form, Panel, Query, Subject


def _rate(kinds: str, what: str) -> str:
    selection = f'slurmpod_efa_{what}_total{{node=~"$node",kind=~"{kinds}"}}'
    return f"sum by (node, kind) (rate({selection}[$__rate_interval]))"


EFA = Dashboard(
    "slurmpod-efa",
    "EFA",
    "The network between accelerated nodes: traffic, and what got lost.",
    (
        Panel(
            "Ports that are not active",
            (Query('count(slurmpod_efa_port_active{node=~"$node"} == 0) or vector(0)', "ports"),),
            form=Form.NUMBER,
            subject=Subject.EFA,
        ),
        Panel(
            "Traffic of all nodes",
            (Query("sum by (kind) (node:efa_bytes:rate)", "{{kind}}"),),
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Sent and received, by node",
            (Query(_rate("tx|rx", "bytes"), "{{node}} {{kind}}"),),
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "RDMA, by node",
            (Query(_rate("rdma_read|rdma_write", "bytes"), "{{node}} {{kind}}"),),
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Sent again, by node",
            (Query(_rate("retrans", "bytes"), "{{node}}"),),
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Errors, by node and kind",
            (Query(_rate(".+", "errors"), "{{node}} {{kind}}"),),
            unit="ops",
            subject=Subject.EFA,
        ),
    ),
)
