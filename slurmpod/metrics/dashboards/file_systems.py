"""The dashboard of file systems: their space and traffic."""

from __future__ import annotations

from slurmpod.metrics.panel import Dashboard, Panel, Subject

USED = "(1 - node_filesystem_avail_bytes{%s} / node_filesystem_size_bytes{%s})"


def _used(selection: str) -> str:
    return USED % (selection, selection)


def _lustre(kind: str, what: str, by: str) -> str:
    selection = f'slurmpod_lustre_{what}_total{{node=~"$node",kind=~"{kind}"}}'
    return f"sum by ({by}) (rate({selection}[$__rate_interval]))"


FILE_SYSTEMS = Dashboard(
    "slurmpod-file-systems",
    "File systems",
    "Shared file systems and the nodes' disks: space and traffic.",
    (
        Panel(
            "Space in use, by folder",
            {"{{mountpoint}}": f"max by (mountpoint) {_used('')}"},
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Free space, by folder",
            {"{{mountpoint}}": "min by (mountpoint) (node_filesystem_avail_bytes)"},
            unit="bytes",
        ),
        Panel(
            "Space in use on the nodes' own disks",
            {"{{node}}": _used('node=~"$node",mountpoint="/"')},
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Disks busy",
            {
                "{{node}}": (
                    "max by (node)"
                    ' (rate(node_disk_io_time_seconds_total{node=~"$node"}[$__rate_interval]))'
                )
            },
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Disks read and written",
            {
                "{{node}} read": (
                    "sum by (node)"
                    ' (rate(node_disk_read_bytes_total{node=~"$node"}[$__rate_interval]))'
                ),
                "{{node}} written": (
                    "-sum by (node)"
                    ' (rate(node_disk_written_bytes_total{node=~"$node"}[$__rate_interval]))'
                ),
            },
            unit="Bps",
        ),
        Panel(
            "Lustre: read, by node",
            {"{{node}}": _lustre("read", "bytes", "node")},
            unit="Bps",
            subject=Subject.LUSTRE,
        ),
        Panel(
            "Lustre: written, by node",
            {"{{node}}": _lustre("write", "bytes", "node")},
            unit="Bps",
            subject=Subject.LUSTRE,
        ),
        Panel(
            "Lustre: operations",
            {"{{kind}}": _lustre(".+", "operations", "kind")},
            unit="ops",
            subject=Subject.LUSTRE,
        ),
    ),
)
