"""What makes each alert fire, and what looks like it and does not; samples are a minute apart.

Values are promtool's notation: `1x20` is a value that stays for twenty more, `0+1x20` grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """Series with their values, and the labels of the alerts that fire at a minute."""

    alert: str
    what: str
    series: Mapping[str, str]
    at_minute: int
    fires_for: tuple[Mapping[str, str], ...] = field(default=())


NODE, OTHER = "ip-10-0-0-1", "ip-10-0-0-2"


def state(node: str, name: str) -> str:
    return f'slurmpod_slurm_node_state{{node="{node}",state="{name}"}}'


def disk(kind: str, mount: str, fstype: str, node: str = NODE) -> str:
    return f'node_filesystem_{kind}{{node="{node}",mountpoint="{mount}",fstype="{fstype}"}}'


def space(mount: str, fstype: str, free: int) -> Mapping[str, str]:
    return {
        disk("avail_bytes", mount, fstype): f"{free}x60",
        disk("size_bytes", mount, fstype): "100x60",
    }


WAITING = {
    'slurmpod_slurm_longest_wait_seconds{partition="cpu"}': "2000+60x60",
    'slurmpod_slurm_partition_nodes{partition="cpu",state="idle"}': "2x60",
}
XID = 'slurmpod_gpu_xid_errors_total{node="ip-10-0-0-1",pci="0000:53:00",xid="%s"}'
ECC = 'slurmpod_gpu_ecc_errors_total{node="ip-10-0-0-1",gpu="3",kind="%s"}'
NEURON_ECC = 'slurmpod_neuron_ecc_errors{node="ip-10-0-0-1",device="6",kind="%s"}'
GPU = 'slurmpod_gpu_info{node="ip-10-0-0-1",gpu="%d"}'
HELD = 'slurmpod_gpu_job{node="ip-10-0-0-1",gpu="%d",slurm_job="12",user="alice"}'
USE = 'slurmpod_gpu_utilization_ratio{node="ip-10-0-0-1",gpu="%d"}'
GPUS_IN_SLURM = 'slurmpod_slurm_node_gpus{node="ip-10-0-0-1",use="all"}'
EFA_ERROR = 'slurmpod_efa_errors_total{node="ip-10-0-0-1",device="rdmap79s0",kind="%s"}'
EFA_PORT = 'slurmpod_efa_port_active{node="ip-10-0-0-1",device="rdmap79s0",port="1"}'
CHECK = 'slurmpod_check_failed{node="ip-10-0-0-1",check="scratch"}'
ROUND = "slurmpod_checks_round_timestamp_seconds"
OF_NODE = {"node": NODE}

CASES = (
    Case("SlurmctldDown", "no answer", {"slurmpod_slurmctld_up": "0x10"}, 6, ({},)),
    Case(
        "SlurmctldDown",
        "the backup answers",
        {
            'slurmpod_slurmctld_up{instance_id="i-1"}': "0x10",
            'slurmpod_slurmctld_up{instance_id="i-2"}': "1x10",
        },
        6,
    ),
    Case("SlurmctldDown", "a restart", {"slurmpod_slurmctld_up": "1 0 0 1x10"}, 6),
    Case("ControllerSilent", "nothing comes", {'up{node="ip-10-0-0-1"}': "1x30"}, 20, ({},)),
    Case("ControllerSilent", "it sends", {"slurmpod_slurmctld_up": "0x30"}, 20),
    Case(
        "ManyNodesDown",
        "half of them",
        {state(NODE, "down"): "1x20", state(OTHER, "idle"): "1x20"},
        12,
        ({},),
    ),
    Case(
        "ManyNodesDown",
        "one of five",
        {
            state(NODE, "down"): "1x20",
            **{state(f"ip-10-0-0-{n}", "idle"): "1x20" for n in range(2, 6)},
        },
        12,
    ),
    Case("NodeDown", "down", {state(NODE, "down"): "1x20"}, 12, (OF_NODE,)),
    Case(
        "NodeDown",
        "not responding, seen by two controllers",
        {f'{state(NODE, "not_responding")[:-1]},instance_id="i-{n}"}}': "1x20" for n in (1, 2)},
        12,
        (OF_NODE,),
    ),
    Case(
        "NodeDown",
        "replaced in time",
        {state(NODE, "down"): "1x5 _x20", state(NODE, "idle"): "_x5 1x20"},
        12,
    ),
    Case("NodeDown", "powered off", {state(NODE, "powered_off"): "1x20"}, 12),
    Case("NodeDrained", "drained", {state(NODE, "drained"): "1x40"}, 35, (OF_NODE,)),
    Case(
        "NodeDrained",
        "draining, then drained",
        {state(NODE, "draining"): "1x20 _x40", state(NODE, "drained"): "_x20 1x40"},
        35,
        (OF_NODE,),
    ),
    Case("NodeDrained", "for a short while", {state(NODE, "drained"): "1x10 _x40"}, 35),
    Case(
        "IdleNodeFails",
        "seen by two controllers",
        {f'{CHECK[:-1]},instance_id="i-{n}"}}': "1x10" for n in (1, 2)},
        2,
        ({**OF_NODE, "check": "scratch"},),
    ),
    Case("IdleNodeFails", "mended", {CHECK: "1 _x10"}, 8),
    Case("ChecksStopped", "no round", {ROUND: "60x120"}, 80, ({},)),
    Case(
        "ChecksStopped",
        "a backup that is not at work",
        {f'{ROUND}{{instance_id="i-1"}}': "0x120", f'{ROUND}{{instance_id="i-2"}}': "0+60x120"},
        80,
    ),
    Case(
        "NodeSilent",
        "idle, and only the other one sends",
        {
            state(NODE, "idle"): "1x30",
            state(OTHER, "idle"): "1x30",
            f'up{{job="node",node="{OTHER}"}}': "1x30",
        },
        20,
        (OF_NODE,),
    ),
    Case("NodeSilent", "powered off", {state(NODE, "powered_off"): "1x30"}, 20),
    Case(
        "NodeSilent",
        "its exporter fails, and the agent tells so",
        {state(NODE, "idle"): "1x30", f'up{{job="node",node="{NODE}"}}': "0x30"},
        20,
    ),
    Case(
        "QueueStuck",
        "idle nodes and nothing starts",
        {**WAITING, "slurmpod_slurm_jobs_started": "7x60"},
        50,
        ({"partition": "cpu"},),
    ),
    Case(
        "QueueStuck",
        "jobs start",
        {**WAITING, "slurmpod_slurm_jobs_started": "7+1x60"},
        50,
    ),
    Case(
        "QueueStuck",
        "no idle node there, but elsewhere",
        {
            'slurmpod_slurm_longest_wait_seconds{partition="cpu"}': "2000+60x60",
            'slurmpod_slurm_partition_nodes{partition="gpu",state="idle"}': "2x60",
            "slurmpod_slurm_jobs_started": "7x60",
        },
        50,
    ),
    Case("SlurmctldBusy", "threads", {"slurmpod_slurm_server_threads": "250x20"}, 12, ({},)),
    Case("SlurmctldBusy", "a burst", {"slurmpod_slurm_server_threads": "250 3x20"}, 12),
    Case("JobRecordsQueue", "grows", {"slurmpod_slurm_dbd_queue": "1001+10x30"}, 20, ({},)),
    Case("JobRecordsQueue", "drains", {"slurmpod_slurm_dbd_queue": "1100-20x30"}, 20),
    Case(
        "GpuXid",
        "one, from its first sample on",
        {XID % 79: "_x3 1x20"},
        5,
        ({**OF_NODE, "pci": "0000:53:00", "xid": "79"},),
    ),
    Case("GpuXid", "a program's mistake", {XID % 31: "5x20"}, 5),
    Case(
        "GpuMemoryErrors",
        "uncorrected",
        {ECC % "uncorrected": "1x20"},
        2,
        ({**OF_NODE, "gpu": "3"},),
    ),
    Case("GpuMemoryErrors", "corrected", {ECC % "corrected": "9x20"}, 2),
    Case("GpuMemoryErrors", "none", {ECC % "uncorrected": "0x20"}, 2),
    Case(
        "GpuMissing",
        "seven of eight",
        {**{GPU % n: "1x20" for n in range(7)}, GPUS_IN_SLURM: "8x20"},
        12,
        (OF_NODE,),
    ),
    Case(
        "GpuMissing",
        "all there",
        {**{GPU % n: "1x20" for n in range(8)}, GPUS_IN_SLURM: "8x20"},
        12,
    ),
    Case(
        "GpusIdle",
        "one of two GPUs does nothing for two hours",
        {HELD % 0: "1x140", HELD % 1: "1x140", USE % 0: "0x140", USE % 1: "0.5x140"},
        125,
        ({"slurm_job": "12", "user": "alice"},),
    ),
    Case(
        "GpusIdle",
        "a step now and then",
        {HELD % 0: "1x140", USE % 0: "0x90 0.3 0x50"},
        125,
    ),
    Case(
        "GpusIdle",
        "the GPU was idle before the job had it",
        {HELD % 0: "_x70 1x70", USE % 0: "0x140"},
        135,
    ),
    Case(
        "GpusIdle",
        "nobody holds the GPU",
        {USE % 0: "0x140"},
        125,
    ),
    Case(
        "GpusIdle",
        "nothing is known of the GPU's use",
        {HELD % 0: "1x140"},
        125,
    ),
    Case(
        "NeuronMemoryErrors",
        "in one report",
        {NEURON_ECC % "mem_ecc_uncorrected": "0x3 1 0x40"},
        20,
        ({**OF_NODE, "device": "6", "kind": "mem_ecc_uncorrected"},),
    ),
    Case("NeuronMemoryErrors", "corrected", {NEURON_ECC % "mem_ecc_corrected": "1x40"}, 20),
    Case(
        "EfaPortDown",
        "down",
        {EFA_PORT: "0x10"},
        6,
        ({**OF_NODE, "device": "rdmap79s0"},),
    ),
    Case("EfaPortDown", "active", {EFA_PORT: "1x10"}, 6),
    Case(
        "EfaErrors",
        "requests fail",
        {EFA_ERROR % "rdma_write_wr_err": "0x5 1+1x20"},
        15,
        ({**OF_NODE, "device": "rdmap79s0"},),
    ),
    Case("EfaErrors", "dropped packets are sent again", {EFA_ERROR % "rx_drops": "0+9x30"}, 15),
    Case("EfaErrors", "long ago", {EFA_ERROR % "rdma_write_wr_err": "4x30"}, 15),
    Case(
        "SharedFileSystemFull",
        "on Lustre",
        space("/fsx", "lustre", 4),
        12,
        ({"mountpoint": "/fsx"},),
    ),
    Case("SharedFileSystemFull", "it fills", space("/fsx", "lustre", 10), 12),
    Case(
        "SharedFileSystemFills",
        "on OpenZFS",
        space("/home", "nfs4", 10),
        35,
        ({"mountpoint": "/home"},),
    ),
    Case("SharedFileSystemFills", "a node's own disk", space("/", "ext4", 10), 35),
    Case(
        "NodeDiskFull",
        "the root disk",
        space("/", "ext4", 3),
        12,
        ({**OF_NODE, "mountpoint": "/"},),
    ),
    Case("NodeDiskFull", "a shared one", space("/fsx", "lustre", 3), 12),
    Case(
        "NodeDiskReadOnly",
        "after an error",
        {disk("readonly", "/", "ext4"): "0x3 1x20"},
        10,
        (OF_NODE,),
    ),
    Case("NodeDiskReadOnly", "a disc image", {disk("readonly", "/snap/x", "ext4"): "1x20"}, 10),
    Case(
        "ClockSkew",
        "too far",
        {f'node_timex_offset_seconds{{node="{NODE}"}}': "-0.2x20"},
        12,
        (OF_NODE,),
    ),
    Case(
        "ClockSkew",
        "nobody sets it",
        {f'node_timex_sync_status{{node="{NODE}"}}': "0x20"},
        12,
        (OF_NODE,),
    ),
    Case(
        "ClockSkew",
        "right",
        {
            f'node_timex_offset_seconds{{node="{NODE}"}}': "0.001x20",
            f'node_timex_sync_status{{node="{NODE}"}}': "1x20",
        },
        12,
    ),
    Case(
        "CollectorFails",
        "for long",
        {f'slurmpod_collector_success{{node="{NODE}",collector="gpu"}}': "0x40"},
        35,
        ({**OF_NODE, "collector": "gpu"},),
    ),
    Case(
        "CollectorFails",
        "now and then",
        {f'slurmpod_collector_success{{node="{NODE}",collector="gpu"}}': "0x10 1 0x30"},
        35,
    ),
    Case(
        "ExporterStuck",
        "an old file",
        {f'node_textfile_mtime_seconds{{node="{NODE}"}}': "0x40"},
        25,
        (OF_NODE,),
    ),
    Case(
        "ExporterStuck",
        "a new file each minute",
        {f'node_textfile_mtime_seconds{{node="{NODE}"}}': "0+60x40"},
        25,
    ),
    Case(
        "OutOfMemory",
        "a process",
        {f'node_vmstat_oom_kill{{node="{NODE}"}}': "0x5 1x20"},
        8,
        (OF_NODE,),
    ),
    Case("OutOfMemory", "long ago", {f'node_vmstat_oom_kill{{node="{NODE}"}}': "1x40"}, 30),
)
