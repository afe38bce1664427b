"""One small job on a live cluster, to see that it takes jobs; it does not wait behind others.

It runs as `ubuntu`, who is on every node of HyperPod, from where users work.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from slurmpod.aws.deployment import SessionNodes
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions, command_session, usual_group
from slurmpod.resolve import Resolved, session_target

MARK = "slurmpod-job"
WAIT_SECONDS = 180
"""How long it may wait for a node: those that have just joined take a while to be listed."""

_SCRIPT = f"""\
export PATH=/opt/slurm/bin:$PATH
cd /tmp
said=$(timeout 600 srun --job-name=slurmpod-check --partition="$1" --nodes=1 --ntasks=1 --time=5 \\
    --immediate={WAIT_SECONDS} hostname 2>&1)
echo "{MARK} $? $(squeue --noheader --states=RUNNING | wc -l) $(echo $said)"
"""


@dataclass(frozen=True)
class CheckedJob:
    """How the job went: `detail` is the node on which it ran, or why it did not."""

    succeeded: bool
    detail: str


def run_check_job(
    nodes: SessionNodes, resolved: Resolved, sessions: NodeSessions, group_name: str = ""
) -> CheckedJob | None:
    """Run the job in the partition of a group of workers, or in the largest; None without workers.

    Where nodes are all taken, jobs of others show that the cluster works. Raises AwsUnavailable.
    """
    groups = resolved.groups_with(Role.WORKER)
    named = [each for each in groups if each.name == group_name]
    workers = max(named or groups, key=lambda each: each.count, default=None)
    if workers is None or workers.count == 0 or not workers.partition:
        return None
    group = usual_group(resolved)
    running = nodes.running(resolved.name, group)
    if not running:
        return CheckedJob(False, f"{group} has no running node")
    target = session_target(nodes.cluster_id(resolved.name), group, running[0])
    sudo = ("sudo", "--non-interactive", "--user=ubuntu", "sh", "-c", _SCRIPT, "sh")
    command = shlex.join([*sudo, workers.partition])
    try:
        return read_result(sessions.output(command_session(target, command)))
    except AwsUnavailable as refusal:
        return CheckedJob(False, str(refusal))


def read_result(output: str) -> CheckedJob:
    """Read how the job went in what its session printed."""
    for line in output.splitlines():
        mark, _, rest = line.partition(" ")
        if mark == MARK:
            status, running, *said = rest.split(" ", 2)
            if status == "0":
                return CheckedJob(True, f"a job ran on {' '.join(said)}")
            if running != "0":
                return CheckedJob(True, f"no node is free; jobs that run: {running}")
            return CheckedJob(False, " ".join(said) or f"srun ended with {status}")
    lines = [line for line in output.splitlines() if line.strip()] or ["nothing"]
    return CheckedJob(False, "; ".join(lines[-3:]))
