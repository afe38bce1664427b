"""Accelerators: how busy and how sound GPUs and Trainium are, and EFA, the network between them."""

from __future__ import annotations

from slurmpod.metrics.panel import Dashboard, Form, Panel, Subject


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
