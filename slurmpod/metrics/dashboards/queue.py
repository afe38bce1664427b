"""Slurm queue: what runs, what waits and why, and how well the scheduler keeps up."""

from __future__ import annotations

from slurmpod.metrics.panel import Dashboard, Form, Panel, Query, Subject

QUEUE = Dashboard(
    "slurmpod-queue",
    "Slurm queue",
    "Jobs: running and waiting, what they wait for, and the scheduler.",
    (
        Panel(
            "Running jobs",
            (
                Query(
                    'sum(max by (partition) (slurmpod_slurm_jobs{state="running"})) or vector(0)',
                    "running",
                ),
            ),
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Waiting jobs",
            (
                Query(
                    'sum(max by (partition) (slurmpod_slurm_jobs{state="pending"})) or vector(0)',
                    "waiting",
                ),
            ),
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Longest wait for resources",
            (
                Query(
                    "max by (partition) (slurmpod_slurm_longest_wait_seconds)",
                    "{{partition}}",
                ),
            ),
            unit="s",
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
            may_be_empty=True,
        ),
        Panel(
            "Jobs started today (UTC)",
            (Query("max(slurmpod_slurm_jobs_started)", "started"),),
            form=Form.NUMBER,
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Jobs by partition and state",
            (
                Query(
                    "max by (partition, state) (slurmpod_slurm_jobs)",
                    "{{partition}} {{state}}",
                ),
            ),
            form=Form.STACK,
            subject=Subject.CONTROLLER,
            may_be_empty=True,
        ),
        Panel(
            "What jobs wait for",
            (
                Query(
                    "sum by (reason) (max by (partition, reason) (slurmpod_slurm_pending_jobs))",
                    "{{reason}}",
                ),
            ),
            form=Form.STACK,
            subject=Subject.CONTROLLER,
            may_be_empty=True,
        ),
        Panel(
            "Idle nodes by partition",
            (
                Query(
                    'max by (partition) (slurmpod_slurm_partition_nodes{state="idle"})',
                    "{{partition}}",
                ),
            ),
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Jobs failed today (UTC)",
            (Query("max(slurmpod_slurm_jobs_failed)", "failed"),),
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "Scheduler's last cycle",
            (Query("max(slurmpod_slurm_cycle_seconds)", "cycle"),),
            unit="s",
            subject=Subject.CONTROLLER,
        ),
        Panel(
            "slurmctld: threads and queues",
            (
                Query("max(slurmpod_slurm_server_threads)", "threads"),
                Query("max(slurmpod_slurm_agent_queue)", "messages to nodes"),
                Query("max(slurmpod_slurm_dbd_queue)", "job records"),
            ),
            subject=Subject.CONTROLLER,
        ),
    ),
)
