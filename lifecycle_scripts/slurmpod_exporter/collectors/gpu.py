"""NVIDIA GPUs, by nvidia-smi: it comes with the driver, and needs neither DCGM nor its daemon.

Only fields that every driver of the last years knows, by names that did not change: one unknown
field makes nvidia-smi print nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.exposition import Sample
from slurmpod_exporter.host import Host

COMMAND = "nvidia-smi"
MIB = 1024.0**2
FIELDS = (
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


def _collect(host: Host) -> Iterator[Sample]:
    query = (f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits")
    for line in host.run(COMMAND, *query).splitlines():
        values = dict(zip(FIELDS, (each.strip() for each in line.split(",")), strict=True))
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
    """Tell a number from `[N/A]` and its like, for what a GPU does not have."""
    return text.replace(".", "", 1).isdigit()


def has_gpus(host: Host) -> bool:
    """Tell whether there are GPUs: HyperPod's image has nvidia-smi on every node."""
    return host.has(COMMAND) and bool(host.glob("/dev/nvidia[0-9]*"))


GPU = Collector("gpu", has_gpus, _collect)
