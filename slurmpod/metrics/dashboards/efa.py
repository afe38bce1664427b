"""The dashboard of EFA, the network between accelerated nodes."""

from __future__ import annotations

from slurmpod.metrics.panel import Dashboard, Form, Panel, Subject


def _rate(kinds: str, what: str) -> str:
    selection = f'slurmpod_efa_{what}_total{{node=~"$node",kind=~"{kinds}"}}'
    return f"sum by (node, kind) (rate({selection}[$__rate_interval]))"


EFA = Dashboard(
    "slurmpod-efa",
    "EFA",
    "The network between accelerated nodes: traffic, errors and retransmissions.",
    (
        Panel(
            "Ports that are not active",
            {"ports": 'count(slurmpod_efa_port_active{node=~"$node"} == 0) or vector(0)'},
            form=Form.NUMBER,
            subject=Subject.EFA,
        ),
        Panel(
            "Traffic of all nodes",
            {"{{kind}}": "sum by (kind) (node:efa_bytes:rate)"},
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Sent and received, by node",
            {"{{node}} {{kind}}": _rate("tx|rx", "bytes")},
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "RDMA, by node",
            {"{{node}} {{kind}}": _rate("rdma_read|rdma_write", "bytes")},
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Sent again, by node",
            {"{{node}}": _rate("retrans", "bytes")},
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Errors, by node and kind",
            {"{{node}} {{kind}}": _rate(".+", "errors")},
            unit="ops",
            subject=Subject.EFA,
        ),
    ),
)
