"""Every metric of this exporter, and the text format that Prometheus reads.

Names follow Prometheus' conventions: base units, `_total` for counters. DCGM's metrics have the
names of NVIDIA's dcgm-exporter, so existing dashboards work. The format is that of Prometheus,
"Exposition formats".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

GAUGE, COUNTER = "gauge", "counter"


class Family(NamedTuple):
    """The metadata of all samples with one name."""

    kind: str
    meaning: str


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "slurmpod_collector_success": Family(GAUGE, "1 if a collector got what it asked for."),
        "slurmpod_collector_seconds": Family(GAUGE, "Time that a collector took."),
        "slurmpod_slurmctld_up": Family(GAUGE, "1 if a controller daemon of Slurm answers."),
        "slurmpod_slurm_node_state": Family(GAUGE, "1 for the state in which Slurm has a node."),
        "slurmpod_slurm_node_cpus": Family(GAUGE, "CPUs of a node, by what Slurm does with them."),
        "slurmpod_slurm_node_gpus": Family(GAUGE, "GPUs of a node in Slurm, all and allocated."),
        "slurmpod_slurm_partition_nodes": Family(GAUGE, "Nodes of a partition, by state."),
        "slurmpod_slurm_jobs": Family(GAUGE, "Jobs in the queue, by partition and state."),
        "slurmpod_slurm_pending_jobs": Family(GAUGE, "Waiting jobs, by what they wait for."),
        "slurmpod_slurm_longest_wait_seconds": Family(
            GAUGE, "Age of the oldest job that waits for resources or its turn, by partition."
        ),
        "slurmpod_slurm_jobs_started": Family(GAUGE, "Jobs started since midnight UTC."),
        "slurmpod_slurm_jobs_failed": Family(GAUGE, "Jobs failed since midnight UTC."),
        "slurmpod_slurm_cycle_seconds": Family(GAUGE, "Time of the scheduler's last cycle."),
        "slurmpod_slurm_server_threads": Family(GAUGE, "Busy threads of slurmctld; 256 at most."),
        "slurmpod_slurm_agent_queue": Family(GAUGE, "Messages to nodes that slurmctld has queued."),
        "slurmpod_slurm_dbd_queue": Family(GAUGE, "Records that slurmctld has not got rid of."),
        "slurmpod_checks_round_timestamp_seconds": Family(
            GAUGE, "When the last round of checks of idle nodes ended."
        ),
        "slurmpod_check_timestamp_seconds": Family(GAUGE, "When an idle node was last checked."),
        "slurmpod_check_failed": Family(GAUGE, "1 for a check of idle nodes that a node fails."),
        "slurmpod_check_faults": Family(GAUGE, "Checks of a node that have found a fault of it."),
        "slurmpod_check_bytes_per_second": Family(GAUGE, "What the last check of a node measured."),
        "slurmpod_check_latency_seconds": Family(
            GAUGE, "How long a message took in the last check of a node."
        ),
        "slurmpod_gpu_job": Family(GAUGE, "1 for each GPU that a job holds, with job and user."),
        "slurmpod_gpu_info": Family(GAUGE, "1 for each GPU, with its product and its UUID."),
        "slurmpod_gpu_utilization_ratio": Family(GAUGE, "Part of the time in which a GPU worked."),
        "slurmpod_gpu_memory_used_bytes": Family(GAUGE, "Memory of a GPU in use."),
        "slurmpod_gpu_memory_bytes": Family(GAUGE, "Memory of a GPU."),
        "slurmpod_gpu_temperature_celsius": Family(GAUGE, "Temperature of a GPU."),
        "slurmpod_gpu_power_watts": Family(GAUGE, "Power that a GPU draws."),
        "slurmpod_gpu_ecc_errors_total": Family(COUNTER, "ECC errors since the driver started."),
        "slurmpod_gpu_xid_errors_total": Family(COUNTER, "XID errors in the kernel's log."),
        "DCGM_FI_PROF_SM_ACTIVE": Family(
            GAUGE, "Part of cycles in which an SM had work, of all SMs."
        ),
        "DCGM_FI_PROF_SM_OCCUPANCY": Family(GAUGE, "Warps on the SMs, of those that have room."),
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": Family(
            GAUGE, "Part of cycles with tensor cores at work."
        ),
        "DCGM_FI_PROF_DRAM_ACTIVE": Family(GAUGE, "Part of cycles in which GPU memory moved data."),
        "DCGM_FI_PROF_PCIE_TX_BYTES": Family(GAUGE, "Bytes a second that a GPU sends over PCIe."),
        "DCGM_FI_PROF_PCIE_RX_BYTES": Family(GAUGE, "Bytes a second that a GPU gets over PCIe."),
        "DCGM_FI_PROF_NVLINK_TX_BYTES": Family(GAUGE, "Bytes a second that a GPU sends by NVLink."),
        "DCGM_FI_PROF_NVLINK_RX_BYTES": Family(GAUGE, "Bytes a second that a GPU gets by NVLink."),
        "slurmpod_neuron_core_utilization_ratio": Family(
            GAUGE, "Part of the time in which a NeuronCore worked."
        ),
        "slurmpod_neuron_memory_used_bytes": Family(
            GAUGE, "Memory that Neuron's runtimes use, on the host and on devices."
        ),
        "slurmpod_neuron_execution_errors": Family(
            GAUGE, "Failed executions that neuron-monitor reports, by kind."
        ),
        "slurmpod_neuron_ecc_errors": Family(
            GAUGE, "ECC errors that neuron-monitor reports, by device and kind."
        ),
        "slurmpod_efa_port_active": Family(GAUGE, "1 if the port of an EFA device is active."),
        "slurmpod_efa_bytes_total": Family(COUNTER, "Bytes through an EFA device, by kind."),
        "slurmpod_efa_errors_total": Family(COUNTER, "Errors of an EFA device, by kind."),
        "slurmpod_lustre_bytes_total": Family(COUNTER, "Bytes read and written on Lustre."),
        "slurmpod_lustre_operations_total": Family(COUNTER, "Operations on Lustre, by kind."),
    }
)
"""The metrics of a node depend on its hardware and role."""


class Sample(NamedTuple):
    """One current value; `name` is a key of FAMILIES."""

    name: str
    labels: Mapping[str, str]
    value: float


def exposition(samples: Iterable[Sample]) -> str:
    """Return the text, with samples of one name together below their metadata."""
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    lines: list[str] = []
    for name, found in by_name.items():
        family = FAMILIES[name]
        lines += [f"# HELP {name} {family.meaning}", f"# TYPE {name} {family.kind}"]
        lines += map(_line, found)
    return "".join(f"{line}\n" for line in lines)


def _line(sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
    return f"{sample.name}{{{labels}}} {float(sample.value)!r}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
