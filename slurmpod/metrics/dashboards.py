"""The dashboards of an environment: cluster, Slurm queue, accelerators, EFA, file systems."""

from __future__ import annotations

from slurmpod.metrics.alerts import GONE
from slurmpod.metrics.check_panels import CHECK_PANELS
from slurmpod.metrics.panel import Dashboard, Form, Panel, Subject

CLUSTER = Dashboard(
    "slurmpod-cluster",
    "Cluster",
    "Nodes: what Slurm thinks of them, and how busy they are.",
    (
        Panel(
            "slurmctld answers",
            {"up": "max(slurmpod_slurmctld_up)"},
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes",
            {"nodes": "sum(slurm:nodes:count)"},
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes down",
            {"down": f'sum(slurm:nodes:count{{state=~"{GONE}"}}) or vector(0)'},
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Nodes that send metrics",
            {"nodes": 'count(max by (node) (up{job="node"}))'},
            form=Form.NUMBER,
        ),
        Panel(
            "Nodes by state",
            {"{{state}}": "slurm:nodes:count"},
            form=Form.STACK,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "CPUs by use",
            {"{{use}}": "slurm:cpus:sum"},
            form=Form.STACK,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Processors busy",
            {"{{node}}": 'node:cpu_busy:ratio{node=~"$node"}'},
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Memory in use",
            {
                "{{node}}": (
                    '1 - node_memory_MemAvailable_bytes{node=~"$node"}'
                    ' / node_memory_MemTotal_bytes{node=~"$node"}'
                )
            },
            unit="percentunit",
            maximum=1,
        ),
        Panel(
            "Network",
            {
                "{{node}} in": (
                    "sum by (node)"
                    ' (rate(node_network_receive_bytes_total{node=~"$node"}[$__rate_interval]))'
                ),
                "{{node}} out": (
                    "-sum by (node)"
                    ' (rate(node_network_transmit_bytes_total{node=~"$node"}[$__rate_interval]))'
                ),
            },
            unit="Bps",
        ),
        Panel("Load", {"{{node}}": 'node_load1{node=~"$node"}'}),
        Panel(
            "Clocks: difference to the network's time",
            {"{{node}}": 'node_timex_offset_seconds{node=~"$node"}'},
            unit="s",
        ),
        Panel(
            "Time since boot",
            {"{{node}}": 'time() - node_boot_time_seconds{node=~"$node"}'},
            unit="s",
        ),
        *CHECK_PANELS,
    ),
)


QUEUE = Dashboard(
    "slurmpod-queue",
    "Slurm queue",
    "Jobs: running and waiting, what they wait for, and the scheduler.",
    (
        Panel(
            "Running jobs",
            {
                "running": (
                    'sum(max by (partition) (slurmpod_slurm_jobs{state="running"})) or vector(0)'
                ),
            },
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Waiting jobs",
            {
                "waiting": (
                    'sum(max by (partition) (slurmpod_slurm_jobs{state="pending"})) or vector(0)'
                ),
            },
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Longest wait for resources",
            {"{{partition}}": "max by (partition) (slurmpod_slurm_longest_wait_seconds)"},
            unit="s",
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
            may_be_empty=True,
        ),
        Panel(
            "Jobs started today (UTC)",
            {"started": "max(slurmpod_slurm_jobs_started)"},
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Jobs by partition and state",
            {"{{partition}} {{state}}": "max by (partition, state) (slurmpod_slurm_jobs)"},
            form=Form.STACK,
            subject=Subject.CONTROLLER,
            may_be_empty=True,
        ),
        Panel(
            "What jobs wait for",
            {
                "{{reason}}": (
                    "sum by (reason) (max by (partition, reason) (slurmpod_slurm_pending_jobs))"
                ),
            },
            form=Form.STACK,
            subject=Subject.CONTROLLER,
            may_be_empty=True,
        ),
        Panel(
            "Idle nodes by partition",
            {"{{partition}}": 'max by (partition) (slurmpod_slurm_partition_nodes{state="idle"})'},
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Jobs failed today (UTC)",
            {"failed": "max(slurmpod_slurm_jobs_failed)"},
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Scheduler's last cycle",
            {"cycle": "max(slurmpod_slurm_cycle_seconds)"},
            unit="s",
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "slurmctld: threads and queues",
            {
                "threads": "max(slurmpod_slurm_server_threads)",
                "messages to nodes": "max(slurmpod_slurm_agent_queue)",
                "job records": "max(slurmpod_slurm_dbd_queue)",
            },
            subject=Subject.CONTROLLER,
        ),
    ),
)


def _average(name: str) -> str:
    return f'avg by (node) ({name}{{node=~"$node"}})'


ACCELERATORS = Dashboard(
    "slurmpod-accelerators",
    "Accelerators",
    "GPUs and Neuron devices: use, memory, heat, errors.",
    (
        Panel(
            "GPUs: all and allocated by Slurm",
            {"{{use}}": "slurm:gpus:sum"},
            subject=Subject.GPU,
        ),
        Panel(
            "GPUs by job",
            {"{{slurm_job}} {{user}}": "job:gpus:count"},
            form=Form.STACK,
            subject=Subject.GPU,
        ),
        Panel(
            "GPUs by user",
            {"{{user}}": "sum by (user) (job:gpus:count)"},
            form=Form.STACK,
            subject=Subject.GPU,
        ),
        Panel(
            "GPUs busy, by job",
            {"{{slurm_job}} {{user}}": "job:gpu_utilization:avg"},
            unit="percentunit",
            subject=Subject.GPU,
            maximum=1,
        ),
        Panel(
            "GPUs allocated and idle for an hour, by job",
            {"{{slurm_job}} {{user}}": "job:gpus_idle:count"},
            form=Form.STACK,
            subject=Subject.GPU,
            may_be_empty=True,
        ),
        Panel(
            "GPUs that work and are allocated to no job, by node",
            {
                "{{node}}": (
                    'count by (node) (slurmpod_gpu_utilization_ratio{node=~"$node"} > 0'
                    " unless on (node, gpu) slurmpod_gpu_job)"
                )
            },
            form=Form.STACK,
            subject=Subject.GPU,
            may_be_empty=True,
        ),
        Panel(
            "GPUs busy, by node",
            {"{{node}}": 'node:gpu_utilization:avg{node=~"$node"}'},
            unit="percentunit",
            subject=Subject.GPU,
            maximum=1,
        ),
        Panel(
            "GPU units busy, by node (DCGM)",
            {
                "{{node}} SMs": _average("DCGM_FI_PROF_SM_ACTIVE"),
                "{{node}} SM occupancy": _average("DCGM_FI_PROF_SM_OCCUPANCY"),
                "{{node}} tensor cores": _average("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"),
                "{{node}} memory": _average("DCGM_FI_PROF_DRAM_ACTIVE"),
            },
            unit="percentunit",
            subject=Subject.GPU,
            maximum=1,
        ),
        Panel(
            "GPU memory in use",
            {
                "{{node}} {{gpu}}": (
                    'slurmpod_gpu_memory_used_bytes{node=~"$node"}'
                    ' / slurmpod_gpu_memory_bytes{node=~"$node"}'
                )
            },
            unit="percentunit",
            subject=Subject.GPU,
            maximum=1,
        ),
        Panel(
            "GPU temperature",
            {"{{node}}": 'max by (node) (slurmpod_gpu_temperature_celsius{node=~"$node"})'},
            unit="celsius",
            subject=Subject.GPU,
        ),
        Panel(
            "GPU power",
            {"{{node}}": 'sum by (node) (slurmpod_gpu_power_watts{node=~"$node"})'},
            unit="watt",
            subject=Subject.GPU,
        ),
        Panel(
            "GPU memory errors since the driver started",
            {"{{node}} {{gpu}} {{kind}}": 'slurmpod_gpu_ecc_errors_total{node=~"$node"} > 0'},
            subject=Subject.GPU,
            may_be_empty=True,
        ),
        Panel(
            "XID errors since boot",
            {"{{node}} {{pci}} XID {{xid}}": 'slurmpod_gpu_xid_errors_total{node=~"$node"}'},
            subject=Subject.GPU,
            may_be_empty=True,
        ),
        Panel(
            "NeuronCores busy, by node",
            {"{{node}}": 'avg by (node) (slurmpod_neuron_core_utilization_ratio{node=~"$node"})'},
            unit="percentunit",
            subject=Subject.NEURON,
            maximum=1,
        ),
        Panel(
            "Neuron memory in use",
            {"{{node}}": 'slurmpod_neuron_memory_used_bytes{node=~"$node",where="neuron_device"}'},
            unit="bytes",
            subject=Subject.NEURON,
        ),
        Panel(
            "Neuron: failed executions and memory errors",
            {
                "{{node}} {{kind}}": 'slurmpod_neuron_execution_errors{node=~"$node"}',
                "{{node}} {{device}} {{kind}}": 'slurmpod_neuron_ecc_errors{node=~"$node"} > 0',
            },
            subject=Subject.NEURON,
            form=Form.GRAPH,
            may_be_empty=True,
        ),
    ),
)


def _rate(kinds: str, what: str) -> str:
    selection = f'slurmpod_efa_{what}_total{{node=~"$node",kind=~"{kinds}"}}'
    return f"sum by (node, kind) (rate({selection}[$__rate_interval]))"


EFA = Dashboard(
    "slurmpod-efa",
    "EFA",
    "The network between accelerated nodes: traffic, and what got lost.",
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


DASHBOARDS = (CLUSTER, QUEUE, ACCELERATORS, EFA, FILE_SYSTEMS)
