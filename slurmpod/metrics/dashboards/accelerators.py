"""The dashboard of GPUs and Neuron devices."""

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
