"""The alerts: the problem, its severity and the remedy.

Each environment has its own workspace, so every series belongs to its cluster. Values that
several nodes report (two controllers the queue, all nodes a shared file system) are combined by max
or min.

Trouble that goes away with the node (XID and ECC errors are counted since boot) is reported for as
long as the node has it, not only when it happens: a new series has no increase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")

SHARED = 'fstype=~"lustre|nfs4?"'
LOCAL = 'fstype!~"lustre|nfs4?"'
GONE = "down|fail|failing|not_responding|error|unknown"
OFF = "powered_off|powering_up"
HARDWARE_XIDS = "48|62|64|74|79|95|119|120"
"""XIDs whose cure is a reset or another GPU (NVIDIA, "XID Errors")."""

LOST_BY_EFA = "rdma_read_wr_err|rdma_write_wr_err|unresponsive_remote_events"


@dataclass(frozen=True)
class Alert:
    """A condition that raises an alert after `minutes`.

    `summary` and `action` may use labels of the condition, as Prometheus' templates do.
    """

    name: str
    severity: Severity
    condition: str
    minutes: int
    summary: str
    action: str


SLURM_ALERTS = (
    Alert(
        "SlurmctldDown",
        "critical",
        "max(slurmpod_slurmctld_up) == 0",
        5,
        "No controller daemon of Slurm answers",
        "Look at 'journalctl -u slurmctld' on the controller.",
    ),
    Alert(
        "ControllerSilent",
        "critical",
        "absent(slurmpod_slurmctld_up)",
        15,
        "The controller sends no metrics",
        "Check that the controller runs, and look at 'journalctl -u slurmpod-metrics-agent'.",
    ),
    Alert(
        "ManyNodesDown",
        "critical",
        f'sum(slurm:nodes:count{{state=~"{GONE}"}}) / sum(slurm:nodes:count) > 0.25',
        10,
        "More than a quarter of the nodes are down",
        "Look at 'sinfo --list-reasons' and at the events of the cluster.",
    ),
    Alert(
        "NodeDown",
        "warning",
        f'max by (node) (slurmpod_slurm_node_state{{state=~"{GONE}"}}) == 1',
        10,
        "{{ $labels.node }} is down for Slurm",
        "Look at 'sinfo --list-reasons'; HyperPod replaces a node that fails its health checks.",
    ),
    Alert(
        "NodeDrained",
        "warning",
        'max by (node) (slurmpod_slurm_node_state{state=~"drained|draining"}) == 1',
        30,
        "{{ $labels.node }} takes no jobs",
        "Look at 'sinfo --list-reasons'; resume or replace the node.",
    ),
    Alert(
        "NodeSilent",
        "warning",
        f'max by (node) (slurmpod_slurm_node_state{{state!~"{GONE}|{OFF}"}})'
        ' unless on (node) max by (node) (up{job="node"})',
        15,
        "{{ $labels.node }} runs and sends no metrics",
        "Look at 'journalctl -u slurmpod-metrics-agent' on the node.",
    ),
    Alert(
        "QueueStuck",
        "warning",
        "max by (partition) (slurmpod_slurm_longest_wait_seconds) > 1800"
        ' and on (partition) max by (partition) (slurmpod_slurm_partition_nodes{state="idle"}) > 0'
        " and on () (max(changes(slurmpod_slurm_jobs_started[30m])) == 0)",
        15,
        "Jobs in {{ $labels.partition }} wait beside idle nodes, and none starts",
        "Look at 'squeue --start'; a large job may be collecting nodes.",
    ),
    Alert(
        "SlurmctldBusy",
        "warning",
        "max(slurmpod_slurm_server_threads) > 200",
        10,
        "slurmctld uses most of its 256 threads",
        "Look at 'sdiag' for the user and the request that come most often.",
    ),
    Alert(
        "JobRecordsQueue",
        "warning",
        "max(slurmpod_slurm_dbd_queue) > 1000",
        15,
        "slurmctld cannot deliver job records",
        "Look at slurmdbd and its database; at 10000 waiting records some are lost.",
    ),
)

ACCELERATOR_ALERTS = (
    Alert(
        "GpuXid",
        "critical",
        f'max by (node, pci, xid) (slurmpod_gpu_xid_errors_total{{xid=~"{HARDWARE_XIDS}"}}) > 0',
        0,
        "A GPU of {{ $labels.node }} reports XID {{ $labels.xid }}",
        "Replace the node: scontrol update nodename=... state=fail reason=Action:Replace",
    ),
    Alert(
        "GpuMemoryErrors",
        "critical",
        'max by (node, gpu) (slurmpod_gpu_ecc_errors_total{kind="uncorrected"}) > 0',
        0,
        "GPU {{ $labels.gpu }} of {{ $labels.node }} has uncorrected memory errors",
        "Reboot the node to reset the GPU, or replace it.",
    ),
    Alert(
        "GpuMissing",
        "critical",
        "count by (node) (max by (node, gpu) (slurmpod_gpu_info))"
        ' < on (node) max by (node) (slurmpod_slurm_node_gpus{use="all"})',
        10,
        "{{ $labels.node }} has fewer GPUs than Slurm expects",
        "Look at 'nvidia-smi' on the node; replace it.",
    ),
    Alert(
        "GpusIdle",
        "info",
        "sum by (slurm_job, user) (job:gpus_idle:count) > 0",
        60,
        "Job {{ $labels.slurm_job }} of {{ $labels.user }} has GPUs that did nothing for two hours",
        "Ask the user; 'scancel {{ $labels.slurm_job }}' frees the GPUs.",
    ),
    Alert(
        "NeuronMemoryErrors",
        "critical",
        "max by (node, device, kind)"
        ' (max_over_time(slurmpod_neuron_ecc_errors{kind=~".+_uncorrected"}[30m])) > 0',
        0,
        "Neuron device {{ $labels.device }} of {{ $labels.node }} has uncorrected memory errors",
        "Replace the node.",
    ),
    Alert(
        "EfaPortDown",
        "critical",
        "min by (node, device) (slurmpod_efa_port_active) == 0",
        5,
        "EFA device {{ $labels.device }} of {{ $labels.node }} is not active",
        "Replace the node.",
    ),
    Alert(
        "EfaErrors",
        "warning",
        f'sum by (node, device) (increase(slurmpod_efa_errors_total{{kind=~"{LOST_BY_EFA}"}}[10m]))'
        " > 0",
        5,
        "EFA device {{ $labels.device }} of {{ $labels.node }} loses requests",
        "See which nodes of the job have such errors: one that all of them talk to may be broken.",
    ),
)

NODE_ALERTS = (
    Alert(
        "SharedFileSystemFull",
        "critical",
        f"min by (mountpoint) (node_filesystem_avail_bytes{{{SHARED}}}"
        f" / node_filesystem_size_bytes{{{SHARED}}}) < 0.05",
        10,
        "{{ $labels.mountpoint }} is nearly full",
        "Delete data, or give the file system more capacity.",
    ),
    Alert(
        "SharedFileSystemFills",
        "warning",
        f"min by (mountpoint) (node_filesystem_avail_bytes{{{SHARED}}}"
        f" / node_filesystem_size_bytes{{{SHARED}}}) < 0.15",
        30,
        "{{ $labels.mountpoint }} fills up",
        "Delete data, or give the file system more capacity.",
    ),
    Alert(
        "NodeDiskFull",
        "warning",
        f"min by (node, mountpoint) (node_filesystem_avail_bytes{{{LOCAL}}}"
        f" / node_filesystem_size_bytes{{{LOCAL}}}) < 0.05",
        10,
        "{{ $labels.mountpoint }} of {{ $labels.node }} is nearly full",
        "Look at what jobs leave there; a full disk fails jobs and logs.",
    ),
    Alert(
        "NodeDiskReadOnly",
        "critical",
        'max by (node) (node_filesystem_readonly{mountpoint="/"}) == 1',
        5,
        "The root disk of {{ $labels.node }} cannot be written",
        "Replace the node.",
    ),
    Alert(
        "ClockSkew",
        "warning",
        "max by (node) (abs(node_timex_offset_seconds)) > 0.05"
        " or max by (node) (node_timex_sync_status) == 0",
        10,
        "The clock of {{ $labels.node }} is wrong",
        "Look at 'chronyc tracking' on the node; munge refuses nodes whose clocks differ too much.",
    ),
    Alert(
        "CollectorFails",
        "warning",
        "max by (node, collector) (slurmpod_collector_success) == 0",
        30,
        "The collector {{ $labels.collector }} of {{ $labels.node }} fails",
        "Look at 'journalctl -u slurmpod-exporter' on the node.",
    ),
    Alert(
        "ExporterStuck",
        "warning",
        "time() - max by (node) (node_textfile_mtime_seconds) > 900",
        5,
        "The metrics of {{ $labels.node }} are old",
        "Look at 'journalctl -u slurmpod-exporter' on the node.",
    ),
    Alert(
        "OutOfMemory",
        "info",
        "max by (node) (increase(node_vmstat_oom_kill[10m])) > 0",
        0,
        "A process of {{ $labels.node }} was killed because memory ran out",
        "Look at the job that ran there.",
    ),
)
