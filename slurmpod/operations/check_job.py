"""One small job on a live cluster, to see that it takes jobs; it does not wait behind others.

It runs as `ubuntu`, who is on every node of HyperPod, from where users work. It is a batch job, and
its state is asked for until it has ended: scripts may just have made slurmctld start anew, and an
srun that waits for resources meanwhile may wait for good (docs/slurm.md). It is submitted when the
first node is there: Slurm would give it one of state CLOUD that may never come.
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
"""How long it may wait for a node: those that have just joined take a while to be listed."""

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
    """How the job went: `detail` is the node on which it ran, or why it did not."""

    succeeded: bool
    detail: str


def run_check_job(
    nodes: ClusterView, resolved: Resolved, sessions: NodeSessions, group_name: str = ""
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
            return CheckedJob(False, " ".join(said))
    lines = [line for line in output.splitlines() if line.strip()] or ["nothing"]
    return CheckedJob(False, "; ".join(lines[-3:]))
