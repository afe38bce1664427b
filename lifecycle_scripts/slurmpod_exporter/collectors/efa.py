"""EFA: the counters of its driver (Amazon EC2 user guide, "Monitor an Elastic Fabric Adapter").

Older drivers and devices have fewer of them; missing ones are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from slurmpod_exporter.collector import Collector, CollectorFailed, Host
from slurmpod_exporter.exposition import Sample

PORTS = "/sys/class/infiniband/*/ports/*"
BYTES = ("tx_bytes", "rx_bytes", "rdma_read_bytes", "rdma_write_bytes", "retrans_bytes")
ERRORS = (
    "rx_drops",
    "rdma_read_wr_err",
    "rdma_write_wr_err",
    "retrans_timeout_events",
    "impaired_remote_conn_events",
    "unresponsive_remote_events",
)


def _collect(host: Host) -> Iterator[Sample]:
    for path in map(PurePosixPath, host.glob(PORTS)):
        labels = {"device": path.parts[-3], "port": path.name}
        is_active = "ACTIVE" in host.read(str(path / "state"))
        yield Sample("slurmpod_efa_port_active", labels, float(is_active))
        counters = dict(_counters(host, path / "hw_counters"))
        for name in filter(counters.__contains__, BYTES):
            kind = {**labels, "kind": name.removesuffix("_bytes")}
            yield Sample("slurmpod_efa_bytes_total", kind, counters[name])
        for name in filter(counters.__contains__, ERRORS):
            yield Sample("slurmpod_efa_errors_total", {**labels, "kind": name}, counters[name])


def _counters(host: Host, folder: PurePosixPath) -> Iterator[tuple[str, float]]:
    for path in host.glob(f"{folder}/*"):
        name = PurePosixPath(path).name
        if name in (*BYTES, *ERRORS):
            try:
                yield name, float(host.read(path))
            except (ValueError, CollectorFailed):  # a counter that this device does not have
                continue


EFA = Collector("efa", lambda host: bool(host.glob(PORTS)), _collect)
