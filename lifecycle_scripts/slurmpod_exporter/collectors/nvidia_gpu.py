"""NVIDIA GPUs: nvidia-smi, DCGM and the XID errors in the kernel's log.

nvidia-smi comes with the driver and needs neither DCGM nor its daemon. Only fields that every
recent driver knows are queried, by names that did not change: with one unknown field it prints
nothing at all.

DCGM measures the units of a GPU; nvidia-smi only reports whether the GPU is busy. From Hopper on
the driver measures this by itself. On older GPUs DCGM takes the hardware counters away from
profilers, and that alone has hung some until a reboot, so these GPUs are not queried. A rejection
by DCGM is no failure, as its host engine is optional; it is logged in the journal.

The driver logs an XID error when a GPU misbehaves. Those since the last boot are counted; a
replaced node starts at zero.

Sources: NVIDIA, "DCGM API reference", Profiling; github.com/NVIDIA/DCGM, issue 144; NVIDIA, "XID
Errors".
"""

from __future__ import annotations

import functools
import logging
import re
from collections import Counter
from collections.abc import Iterator

from slurmpod_exporter.collector import Collector, CollectorFailed, Host
from slurmpod_exporter.exposition import Sample

NVIDIA_SMI = "nvidia-smi"
MIB = 1024.0**2
GPU_FIELDS = (
    "index",
    "uuid",
    "name",
    "utilization.gpu",
    "memory.used",
    "memory.total",
    "temperature.gpu",
    "power.draw",
    "ecc.errors.corrected.volatile.total",
    "ecc.errors.uncorrected.volatile.total",
)
GAUGES = (
    ("utilization.gpu", "slurmpod_gpu_utilization_ratio", 0.01),
    ("memory.used", "slurmpod_gpu_memory_used_bytes", MIB),
    ("memory.total", "slurmpod_gpu_memory_bytes", MIB),
    ("temperature.gpu", "slurmpod_gpu_temperature_celsius", 1.0),
    ("power.draw", "slurmpod_gpu_power_watts", 1.0),
)

DCGMI = "dcgmi"
HOPPER = 9.0
"""The compute capability of Hopper (NVIDIA, "CUDA GPU Compute Capability")."""

DCGM_FIELDS = {
    1002: "DCGM_FI_PROF_SM_ACTIVE",
    1003: "DCGM_FI_PROF_SM_OCCUPANCY",
    1004: "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    1005: "DCGM_FI_PROF_DRAM_ACTIVE",
    1009: "DCGM_FI_PROF_PCIE_TX_BYTES",
    1010: "DCGM_FI_PROF_PCIE_RX_BYTES",
    1011: "DCGM_FI_PROF_NVLINK_TX_BYTES",
    1012: "DCGM_FI_PROF_NVLINK_RX_BYTES",
}
ROW = re.compile(r"^GPU +([0-9]+) +(\S.*)$", re.MULTILINE)
"""A row of a whole GPU; rows of MIG instances begin with `GPU-I` or `GPU-CI`."""

ROWS = 3
"""Rows per GPU, a second apart: the first one has no values yet."""

log = logging.getLogger("slurmpod_exporter")
XID_LINE = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): ([0-9]+)")


def _gpus(host: Host) -> Iterator[Sample]:
    query = (f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader,nounits")
    for line in host.run(NVIDIA_SMI, *query).splitlines():
        values = dict(zip(GPU_FIELDS, (each.strip() for each in line.split(",")), strict=True))
        yield from _samples(values)


def _samples(values: dict[str, str]) -> Iterator[Sample]:
    gpu = {"gpu": values["index"]}
    description = {**gpu, "uuid": values["uuid"], "product": values["name"]}
    yield Sample("slurmpod_gpu_info", description, 1)
    for field, name, unit in GAUGES:
        if is_number(values[field]):
            yield Sample(name, gpu, float(values[field]) * unit)
    for kind in ("corrected", "uncorrected"):
        count = values[f"ecc.errors.{kind}.volatile.total"]
        if is_number(count):
            yield Sample("slurmpod_gpu_ecc_errors_total", {**gpu, "kind": kind}, float(count))


def is_number(text: str) -> bool:
    """Return whether a value is a number, not `[N/A]` or similar for a missing feature."""
    return text.replace(".", "", 1).isdigit()


def has_gpus(host: Host) -> bool:
    """Return whether the node has GPUs: HyperPod's image has nvidia-smi on every node."""
    return host.has(NVIDIA_SMI) and bool(host.glob("/dev/nvidia[0-9]*"))


GPU = Collector("gpu", has_gpus, _gpus)


def _profile(host: Host) -> Iterator[Sample]:
    fields = f"--field-id={','.join(map(str, DCGM_FIELDS))}"
    try:
        table = host.run(DCGMI, "dmon", fields, f"--count={ROWS}")
    except CollectorFailed as refusal:
        _tell(str(refusal))
        return
    latest: dict[tuple[str, str], float] = {}
    for gpu, values in ROW.findall(table):
        for name, value in zip(DCGM_FIELDS.values(), values.split(), strict=True):
            if is_number(value):
                latest[name, gpu] = float(value)
    for (name, gpu), number in latest.items():
        yield Sample(name, {"gpu": gpu}, number)


@functools.cache
def _tell(refusal: str) -> None:
    """Log the rejection once, as it may last for the node's lifetime."""
    log.info("dcgm: %s", refusal)


def _may_be_asked(host: Host) -> bool:
    if not (host.has(DCGMI) and has_gpus(host)):
        return False
    found = host.run(NVIDIA_SMI, "--query-gpu=compute_cap", "--format=csv,noheader").split()
    return bool(found) and all(is_number(each) and float(each) >= HOPPER for each in found)


DCGM = Collector("dcgm", _may_be_asked, _profile)


def _xid_errors(host: Host) -> Iterator[Sample]:
    kernel_log = host.run("journalctl", "--dmesg", "--boot", "--output=cat", "--no-pager")
    for (pci, xid), count in sorted(Counter(XID_LINE.findall(kernel_log)).items()):
        labels = {"pci": pci.lower(), "xid": xid}
        yield Sample("slurmpod_gpu_xid_errors_total", labels, count)


XID = Collector("xid", has_gpus, _xid_errors)
