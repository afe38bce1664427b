"""A small test job on a live cluster, which does not wait behind other jobs.

It runs as `ubuntu`, who exists on every HyperPod node, from a login node or controller. It is a
batch job whose state is polled until it ends: scripts may just have restarted slurmctld, and an
srun that waits for resources meanwhile may hang forever (docs/slurm.md). It is submitted when the
first node is there: Slurm would schedule it on a CLOUD node that may never come.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions, command_session, usual_group
from slurmpod.resolve import Resolved, session_target

MARK = "slurmpod-job"
WAIT_SECONDS = 180
"""How long it may wait for a node: new nodes take a while to be listed."""

MOST_SECONDS = 600

_SCRIPT = f"""\
export PATH=/opt/slurm/bin:$PATH
cd /tmp
tell() {{
    echo "{MARK} $1 $(squeue --noheader --states=RUNNING | wc -l) $2"
    exit
}}
to_come() {{
    states=$(sinfo --noheader --partition="$1" --format=%t 2>/dev/null)
    [ -n "$states" ] && ! echo "$states" | grep --quiet --invert-match '[~#]$'
}}
waited=0
while to_come "$1"; do
    [ "$waited" -lt {MOST_SECONDS} ] || tell 1 "no node of $1 is there after $waited s"
    sleep 1
    waited=$((waited + 1))
done
job=$(sbatch --parsable --job-name=slurmpod-check --partition="$1" --nodes=1 --ntasks=1 --time=5 \\
    --output=/dev/null --wrap=true 2>&1) || tell 1 "$(echo $job)"
waited=0
while :; do
    set -- $(squeue --noheader --states=all --jobs="$job" --format='%T %B %r' 2>/dev/null)
    case $1 in
        COMPLETED) tell 0 "$2" ;;
        PENDING) [ "$waited" -lt {WAIT_SECONDS} ] || break ;;
        '' | CONFIGURING | RUNNING | COMPLETING) [ "$waited" -lt {MOST_SECONDS} ] || break ;;
        *) break ;;
    esac
    sleep 1
    waited=$((waited + 1))
done
scancel "$job" 2>/dev/null
tell 1 "job $job is ${{1:-unknown}} after $waited s: ${{3:-slurmctld does not answer}}"
"""


@dataclass(frozen=True)
class CheckedJob:
    """The outcome of the job: `detail` is its node, or why it did not run."""

    succeeded: bool
    detail: str


def run_check_job(
    nodes: ClusterView, resolved: Resolved, sessions: NodeSessions, group_name: str = ""
) -> CheckedJob | None:
    """Run the job in the partition of a worker group, or in the largest; None without workers.

    If all nodes are busy, other running jobs count as success. Raises AwsUnavailable.
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
    """Read the job's outcome from the output of its session."""
    for line in output.splitlines():
        mark, _, rest = line.partition(" ")
        if mark == MARK:
            status, running, *said = rest.split(" ", 2)
            if status == "0":
                return CheckedJob(True, f"a job ran on {' '.join(said)}")
            if running != "0":
                return CheckedJob(True, f"no node is free; running jobs: {running}")
            return CheckedJob(False, " ".join(said))
    lines = [line for line in output.splitlines() if line.strip()] or ["nothing"]
    return CheckedJob(False, "; ".join(lines[-3:]))
