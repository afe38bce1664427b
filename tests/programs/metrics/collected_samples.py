"""What the collectors print of accelerators, EFA and Lustre, from samples of outputs and files."""

from __future__ import annotations

from slurmpod_exporter.collector import SLURM_COMMANDS
from slurmpod_exporter.collectors import COLLECTORS
from slurmpod_exporter.collectors.gpu_jobs import SHOW_JOBS, SQUEUE
from slurmpod_exporter.collectors.neuron import COMMAND as NEURON_MONITOR
from slurmpod_exporter.exposition import Sample
from tests.pure.exporter.fake_host import FakeHost, sample

PORT = "/sys/class/infiniband/rdmap79s0/ports/1"
GPU_NODE = "ip-10-0-0-9|p5|mixed|96/96/0/192|gpu:h100:8(S:0-1)|gpu:h100:3(IDX:0-2)|\n"
EFA_COUNTERS = (
    "tx_bytes",
    "rx_bytes",
    "rdma_read_bytes",
    "rdma_write_bytes",
    "retrans_bytes",
    "rx_drops",
    "rdma_read_wr_err",
    "unresponsive_remote_events",
)


def accelerated_host() -> FakeHost:
    """Return a node with everything: GPUs, Neuron devices, EFA and Lustre."""
    host = FakeHost(is_controller=True)
    host.prints("nvidia-smi", sample("nvidia-smi.csv"))
    host.prints("nvidia-smi --query-gpu=compute_cap", "9.0\n" * 3)
    host.prints("dcgmi dmon", sample("dcgmi-dmon.txt"))
    host.prints("journalctl", sample("kernel.log"))
    host.prints("lctl", sample("lctl.txt"))
    host.prints(NEURON_MONITOR, sample("neuron-monitor.json"))
    host.prints(f"{SLURM_COMMANDS}/sinfo", GPU_NODE)
    host.prints(f"{SLURM_COMMANDS}/squeue", sample("squeue.txt"))
    host.prints(" ".join(SQUEUE), sample("squeue-with-nodes.txt"))
    host.prints(" ".join(SHOW_JOBS), sample("scontrol-jobs.txt"))
    host.prints(f"{SLURM_COMMANDS}/sdiag", sample("sdiag.txt"))
    host.prints(f"{SLURM_COMMANDS}/scontrol", "Slurmctld(primary) at ip-10-0-0-1 is UP\n")
    host.files = {f"{PORT}/hw_counters/{name}": "5\n" for name in EFA_COUNTERS}
    host.files |= {"/dev/nvidia0": "", "/dev/neuron0": ""}
    host.files[f"{PORT}/state"] = "4: ACTIVE\n"
    host.files["/proc/self/mounts"] = "10.0.1.5@tcp:/abcdefgh /fsx lustre rw 0 0\n"
    return host


def collected_samples() -> list[Sample]:
    host = accelerated_host()
    return [
        sample
        for collector in COLLECTORS
        if collector.is_present(host)
        for sample in collector.collect(host)
    ]
