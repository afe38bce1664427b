"""FSx has no space left: a job that writes fails, and the cluster stays as it is.

A small file system takes the place of the one that all nodes have mounted, and is filled up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from slurmpod.rehearsal.faults.cluster import PROVISIONING_LOG, FaultCluster, NodeLog
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import covered, file_systems, in_enclosure, scripts_run
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.shell import CommandFailed

NO_SPACE = "No space left on device"
NAME = "full"
JOB = "fault-writes"
SEEN_AT = f"/run/machine/file-systems/{NAME}"
"""Where all nodes see what is mounted for them in the enclosure."""

_UNCOVER = f"""
source=$(findmnt --noheadings --output=SOURCE --mountpoint "$1" | tail -n 1)
if [ "$source" = {NAME} ]; then umount "$1"; fi
"""
"""The shared folder is a mount point with and without the small file system."""

_FILL = "cat /dev/zero >{0}/filler 2>/dev/null; test -s {0}/filler"
_WRITES = "head -c 65536 /dev/zero >{0}/checkpoint.$SLURM_JOB_ID"


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker, root = cluster.workers[0], cluster.root(cluster.login)
    with _small_file_system(cluster):
        root.run(["sh", "-c", _FILL.format(cluster.shared)])
        watch.injected(f"{cluster.shared} is full on all nodes")
        watch.until("a job says so", lambda: _write(cluster), NO_SPACE)
        watch.until("its record, too", lambda: _records(cluster)[-1], "FAILED|1:0")
        watch.noticed(f"srun shows the job's own error: {NO_SPACE}")
        log = cluster.log(worker, PROVISIONING_LOG)
        with scripts_run(cluster, worker) as run:
            watch.until("the scripts say so", lambda: _is_said(log), wanted=True)
            watch.until("the node stays", lambda: cluster.state(worker), "idle")
            root.run(["rm", f"{cluster.shared}/filler"])
            watch.mended("somebody made space")
            run.require_success(watch)
        watch.until("the job can write", lambda: _write(cluster), "")
        watch.recovered("the same job ends well, on nodes that never left service")
        SteadyJob.start(cluster, watch).finish()


def _write(cluster: FaultCluster) -> str:
    """Let a job write; return what of its own error is known, nothing when it ended well."""
    write = ["bash", "-c", _WRITES.format(cluster.home)]
    try:
        cluster.user.run(["srun", f"--job-name={JOB}", f"--partition={cluster.partition}", *write])
    except CommandFailed as failure:
        return NO_SPACE if NO_SPACE in str(failure) else str(failure)
    return ""


def _records(cluster: FaultCluster) -> list[str]:
    """Return how the jobs that wrote have ended, the last one at the end."""
    ask = ["sacct", "--noheader", "--allocations", "--parsable2", f"--name={JOB}"]
    return cluster.user.run([*ask, "--format=State,ExitCode"]).splitlines()


def _is_said(log: NodeLog) -> bool:
    said = [line for line in log.new().splitlines() if " self_check: waiting: " in line]
    return NO_SPACE in "".join(said)


@contextmanager
def _small_file_system(cluster: FaultCluster) -> Iterator[None]:
    """Let all nodes have a small file system in place of the shared one, with its content."""
    place, shared = file_systems(cluster.folder) / NAME, str(cluster.shared)
    root = cluster.root(cluster.login)
    in_enclosure(cluster.folder, "mkdir", "-p", str(place))
    with ExitStack() as undo:
        undo.enter_context(covered(cluster.folder, place, options="size=2m,mode=755"))
        undo.callback(root.run, ["rm", "--force", f"{shared}/filler"])
        undo.callback(root.run, ["cp", "-a", f"{SEEN_AT}/.", shared])
        root.run(["cp", "-a", f"{shared}/.", SEEN_AT])
        for node in map(cluster.root, cluster.nodes):
            undo.callback(node.run, ["sh", "-c", _UNCOVER, "sh", shared])
            node.run(["mount", "--bind", SEEN_AT, shared])
        yield


FAULT = Fault(
    name="file-system-full",
    title="FSx is full",
    sees="Jobs that write fail with their own `No space left on device`; what they print into a"
    " file there is cut off. Nodes stay in service, other jobs go on, `df` shows 100 %.",
    logged="The job's output and its exit code in `sacct`; scripts that run then wait in"
    " `self_check`, with the same words, in /var/log/provision/provisioning.log.",
    recovers="Nothing, until somebody makes space or the file system larger. Slurm, the nodes and"
    " job records are not touched; failed jobs are submitted again by their users.",
    act=_act,
)
