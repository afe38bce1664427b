"""The dashboard of Slurm's queue: running and waiting jobs, and the scheduler."""

from __future__ import annotations

from slurmpod.metrics.panel import Dashboard, Form, Panel, Subject

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
