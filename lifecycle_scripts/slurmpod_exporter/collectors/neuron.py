"""AWS Trainium, from one report of neuron-monitor (AWS Neuron, Neuron Monitor user guide)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from slurmpod_exporter.collector import Collector, CollectorFailed, Host
from slurmpod_exporter.exposition import Sample

COMMAND = "/opt/aws/neuron/bin/neuron-monitor"
ECC_KINDS = (
    "mem_ecc_corrected",
    "mem_ecc_uncorrected",
    "sram_ecc_corrected",
    "sram_ecc_uncorrected",
)


def _collect(host: Host) -> Iterator[Sample]:
    try:
        report = json.loads(host.first_line(COMMAND))
    except ValueError:
        raise CollectorFailed(f"{COMMAND} printed no JSON") from None
    runtimes = [each.get("report") or {} for each in report.get("neuron_runtime_data") or []]
    yield from _cores(runtimes)
    for where in ("host", "neuron_device"):
        used = [_part(each, "memory_used", "neuron_runtime_used_bytes", where) for each in runtimes]
        yield Sample("slurmpod_neuron_memory_used_bytes", {"where": where}, sum(map(_number, used)))
    for kind in ("hardware", "numerical", "runtime", "transient"):
        failed = [_part(each, "execution_stats", "error_summary", kind) for each in runtimes]
        yield Sample("slurmpod_neuron_execution_errors", {"kind": kind}, sum(map(_number, failed)))
    devices = _part(report, "system_data", "neuron_hw_counters", "neuron_devices") or []
    for device in devices:
        for kind in filter(device.__contains__, ECC_KINDS):
            labels = {"device": str(device["neuron_device_index"]), "kind": kind}
            yield Sample("slurmpod_neuron_ecc_errors", labels, _number(device[kind]))


def _cores(runtimes: list[dict[str, Any]]) -> Iterator[Sample]:
    """Return the utilization of each core; every runtime lists all cores but uses only its own."""
    used: dict[str, float] = {}
    for runtime in runtimes:
        for core, counters in (
            _part(runtime, "neuroncore_counters", "neuroncores_in_use") or {}
        ).items():
            percent = _number(counters.get("neuroncore_utilization"))
            used[core] = max(used.get(core, 0.0), percent / 100)
    for core, ratio in sorted(used.items(), key=lambda item: int(item[0])):
        yield Sample("slurmpod_neuron_core_utilization_ratio", {"core": core}, ratio)


def _part(report: dict[str, Any], *path: str) -> Any:
    """Return the value at `path`, or None: failed groups are missing or null."""
    part: Any = report
    for name in path:
        part = (part or {}).get(name)
    return part


def _number(value: Any) -> float:
    return float(value or 0)


def _has_devices(host: Host) -> bool:
    return host.has(COMMAND) and bool(host.glob("/dev/neuron[0-9]*"))


NEURON = Collector("neuron", _has_devices, _collect)
