"""Accelerators: how busy and how sound GPUs and Trainium are, and EFA, the network between them."""

from __future__ import annotations

from slurmpod.metrics.panel import Dashboard, Form, Panel, Query, Subject


def _average(name: str) -> str:
    return f'avg by (node) ({name}{{node=~"$node"}})'


ACCELERATORS = Dashboard(
    "slurmpod-accelerators",
    "Accelerators",
    "GPUs and Neuron devices: use, memory, heat, errors.",
    (
        Panel(
            "GPUs: all and allocated by Slurm",
            (Query("slurm:gpus:sum", "{{use}}"),),
            subject=Subject.GPU,
        ),
        Panel(
            "GPUs busy, by node",
            (Query('node:gpu_utilization:avg{node=~"$node"}', "{{node}}"),),
            unit="percentunit",
            subject=Subject.GPU,
            maximum=1,
        ),
        Panel(
            "GPU units busy, by node (DCGM)",
            (
                Query(_average("DCGM_FI_PROF_SM_ACTIVE"), "{{node}} SMs"),
                Query(_average("DCGM_FI_PROF_SM_OCCUPANCY"), "{{node}} SM occupancy"),
                Query(_average("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), "{{node}} tensor cores"),
                Query(_average("DCGM_FI_PROF_DRAM_ACTIVE"), "{{node}} memory"),
            ),
            unit="percentunit",
            subject=Subject.GPU,
            maximum=1,
        ),
        Panel(
            "GPU memory in use",
            (
                Query(
                    'slurmpod_gpu_memory_used_bytes{node=~"$node"}'
                    ' / slurmpod_gpu_memory_bytes{node=~"$node"}',
                    "{{node}} {{gpu}}",
                ),
            ),
            unit="percentunit",
            subject=Subject.GPU,
            maximum=1,
        ),
        Panel(
            "GPU temperature",
            (
                Query(
                    'max by (node) (slurmpod_gpu_temperature_celsius{node=~"$node"})',
                    "{{node}}",
                ),
            ),
            unit="celsius",
            subject=Subject.GPU,
        ),
        Panel(
            "GPU power",
            (Query('sum by (node) (slurmpod_gpu_power_watts{node=~"$node"})', "{{node}}"),),
            unit="watt",
            subject=Subject.GPU,
        ),
        Panel(
            "GPU memory errors since the driver started",
            (
                Query(
                    'slurmpod_gpu_ecc_errors_total{node=~"$node"} > 0',
                    "{{node}} {{gpu}} {{kind}}",
                ),
            ),
            subject=Subject.GPU,
            may_be_empty=True,
        ),
        Panel(
            "XID errors since boot",
            (
                Query(
                    'slurmpod_gpu_xid_errors_total{node=~"$node"}',
                    "{{node}} {{pci}} XID {{xid}}",
                ),
            ),
            subject=Subject.GPU,
            may_be_empty=True,
        ),
        Panel(
            "NeuronCores busy, by node",
            (
                Query(
                    'avg by (node) (slurmpod_neuron_core_utilization_ratio{node=~"$node"})',
                    "{{node}}",
                ),
            ),
            unit="percentunit",
            subject=Subject.NEURON,
            maximum=1,
        ),
        Panel(
            "Neuron memory in use",
            (
                Query(
                    'slurmpod_neuron_memory_used_bytes{node=~"$node",where="neuron_device"}',
                    "{{node}}",
                ),
            ),
            unit="bytes",
            subject=Subject.NEURON,
        ),
        Panel(
            "Neuron: failed executions and memory errors",
            (
                Query(
                    'slurmpod_neuron_execution_errors{node=~"$node"}',
                    "{{node}} {{kind}}",
                ),
                Query(
                    'slurmpod_neuron_ecc_errors{node=~"$node"} > 0',
                    "{{node}} {{device}} {{kind}}",
                ),
            ),
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
            (Query('count(slurmpod_efa_port_active{node=~"$node"} == 0) or vector(0)', "ports"),),
            form=Form.NUMBER,
            subject=Subject.EFA,
        ),
        Panel(
            "Traffic of all nodes",
            (Query("sum by (kind) (node:efa_bytes:rate)", "{{kind}}"),),
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Sent and received, by node",
            (Query(_rate("tx|rx", "bytes"), "{{node}} {{kind}}"),),
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "RDMA, by node",
            (Query(_rate("rdma_read|rdma_write", "bytes"), "{{node}} {{kind}}"),),
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Sent again, by node",
            (Query(_rate("retrans", "bytes"), "{{node}}"),),
            unit="Bps",
            subject=Subject.EFA,
        ),
        Panel(
            "Errors, by node and kind",
            (Query(_rate(".+", "errors"), "{{node}} {{kind}}"),),
            unit="ops",
            subject=Subject.EFA,
        ),
    ),
)
