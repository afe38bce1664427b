"""Report of a rehearsal, as text and as JSON data."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from slurmpod.aws.cluster import Node
from slurmpod.rehearsal.faults_report import drill_data, print_drills, print_faults
from slurmpod.rehearsal.first_job import FirstJob
from slurmpod.rehearsal.processes import Rehearsal
from slurmpod.rehearsal.prometheus_addresses import addresses
from slurmpod.rehearsal.rehearse import Outcome, RehearsedFor
from slurmpod.rehearsal.tables import print_table, print_text


def as_data(outcome: Outcome, seconds: Mapping[str, float]) -> dict[str, object]:
    """Return the outcome for `--json`; `seconds` is the duration of each stage."""
    return {
        "endpoint": outcome.endpoint,
        "stacks": [asdict(stack) for stack in outcome.stacks],
        "nodes": [_node_data(node) for node in outcome.nodes],
        "first_job": asdict(outcome.first_job) if outcome.first_job else None,
        "faults": [report.as_data() for report in outcome.faults],
        "drills": [drill_data(report) for report in outcome.drills],
        "boot_seconds": outcome.boot_seconds,
        "rehearsed_for": asdict(outcome.rehearsed_for) if outcome.rehearsed_for else None,
        "kept": outcome.kept.identifier if outcome.kept else None,
        "seconds": dict(seconds),
    }


def print_outcome(outcome: Outcome) -> None:
    """Print what was deployed, what Slurm reports, the job's output, and what to do next."""
    console = Console(highlight=False)
    print_table(
        console,
        "Stacks",
        ("STACK", "STATUS"),
        ((stack.name, stack.status) for stack in outcome.stacks),
    )
    print_table(
        console,
        "Nodes as SageMaker sees them",
        ("GROUP", "TYPE", "INSTANCE", "ADDRESS", "STATUS"),
        (
            (node.group, node.instance_type, node.instance_id, node.private_ip, node.status)
            for node in outcome.nodes
        ),
    )
    if outcome.first_job:
        print_text(console, "Nodes as Slurm sees them (sinfo)", outcome.first_job.sinfo)
        print_text(console, "Output of the first job", outcome.first_job.output)
        _print_record(console, outcome.first_job)
    if outcome.faults:
        print_faults(console, outcome.faults)
    print_drills(console, outcome.drills)
    if outcome.rehearsed_for:
        print_text(console, "Rehearsed for", _description(outcome.rehearsed_for))
    if outcome.kept:
        print_kept(outcome.kept, outcome.entrance, console)


def _print_record(console: Console, job: FirstJob) -> None:
    if job.no_record:
        print_text(console, "No job records", job.no_record)
    else:
        print_text(console, "Its record (sacct)", job.sacct)


def _description(done: RehearsedFor) -> str:
    image = f"; image {done.image}" if done.image else ""
    return f"{done.profile} Scripts: {done.bundle}{image}"


def print_kept(rehearsal: Rehearsal, entrance: str, console: Console) -> None:
    """Print how to inspect a rehearsal that keeps running, and how to take it down.

    `entrance` is the host name of the node to enter; empty without a node.
    """
    identifier = rehearsal.identifier
    sudo = "sudo " if "SUDO_USER" in os.environ else ""
    ours = f"{sudo}{shlex.quote(sys.argv[0])} rehearsal"
    aws = shlex.quote(str(Path(sys.executable).parent / "aws"))
    commands = [
        f'eval "$({ours} env --id {identifier})"',
        f"{aws} sagemaker list-cluster-nodes --cluster-name {rehearsal.request.name}",
    ]
    if entrance and not rehearsal.request.cloud_only:
        commands.append(f"{ours} shell {entrance} --id {identifier}")
    commands.append(f"{ours} down --id {identifier}")
    for address in addresses(rehearsal.folder):
        print_text(console, "Prometheus, for a browser on this machine", address)
    title = f"The rehearsal {identifier} is still running. Next steps"
    print_text(console, title, "\n".join(commands))


def _node_data(node: Node) -> dict[str, str]:
    return {
        "group": node.group,
        "instance_id": node.instance_id,
        "instance_type": node.instance_type,
        "status": node.status,
        "name": node.name,
        "private_ip": node.private_ip,
    }
