"""File system faults: late or full ones, shared or on a root disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from slurmpod.rehearsal.faults.cluster import PROVISIONING_LOG, SLURMD_LOG, FaultCluster, NodeLog
from slurmpod.rehearsal.faults.fault import Fault, Need
from slurmpod.rehearsal.faults.interventions import (
    covered,
    cut_power,
    disk,
    file_systems,
    in_sandbox,
    scripts_run,
    unmountable,
)
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.shell import CommandFailed

_WAITS = "mount_fsx: waiting: "
_SAYS = "Is the MGS specification correct?"
"""The error of Lustre's mount for a file system that the server does not know (yet)."""


def _file_system_late(cluster: FaultCluster, watch: Watch) -> None:
    """A node is replaced while FSx for Lustre cannot be mounted."""
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    before = cluster.instances()[worker]
    with unmountable(cluster.folder):
        cut_power(cluster, worker)
        watch.injected(f"{worker} is replaced, and the file system cannot be mounted")
        watch.until("it is replaced", lambda: cluster.has_successor(worker, before), wanted=True)
        watch.until("the scripts wait", lambda: cluster.scripts_said(worker, _WAITS), wanted=True)
        watch.until("they log why", lambda: cluster.scripts_said(worker, _SAYS), wanted=True)
        watch.noticed("the scripts of the new node wait, and log the reason")
        bystander.wait_until_it_writes()
    watch.repaired("the file system can be mounted")
    watch.until("the scripts succeed", lambda: cluster.is_set_up(worker), wanted=True)
    watch.until("the node is in service", lambda: cluster.state(worker), "idle")
    watch.recovered(f"{worker} mounted it and accepts jobs")
    bystander.finish()


FILE_SYSTEM_LATE = Fault(
    name="file-system-late",
    title="FSx cannot be mounted at first",
    sees="A new node stays `Pending` for longer than others, and `down*` in sinfo. Nodes that have"
    " mounted it continue.",
    logged="The node's stream in CloudWatch Logs: `mount_fsx: waiting: ...` with mount's error,"
    " once for each reason. If the step times out, the last line names the step, the reason and"
    " what to check.",
    recovers="The scripts retry, with growing pauses that differ from node to node, until the"
    " step's time limit; the node then joins automatically.",
    act=_file_system_late,
    need=Need.CUSTOMER,
)


_NO_SPACE = "No space left on device"
_NAME = "full"
_JOB = "fault-writes"
SEEN_AT = f"/run/machine/file-systems/{_NAME}"
"""The folder in which all nodes see what the sandbox mounts for them."""

_UNCOVER = f"""
source=$(findmnt --noheadings --output=SOURCE --mountpoint "$1" | tail -n 1)
if [ "$source" = {_NAME} ]; then umount "$1"; fi
"""
"""The shared folder is a mount point with and without the small file system."""

_FILL = "cat /dev/zero >{0}/filler 2>/dev/null; test -s {0}/filler"
_WRITES = "head -c 65536 /dev/zero >{0}/checkpoint.$SLURM_JOB_ID"


def _file_system_full(cluster: FaultCluster, watch: Watch) -> None:
    """FSx has no space left: a job that writes fails, and the cluster is otherwise unchanged.

    A small file system replaces the one that all nodes have mounted, and is filled up.
    """
    worker, root = cluster.workers[0], cluster.root(cluster.login)
    with _small_file_system(cluster):
        root.run(["sh", "-c", _FILL.format(cluster.shared)])
        watch.injected(f"{cluster.shared} is full on all nodes")
        watch.until("a job fails", lambda: _write(cluster), _NO_SPACE)
        watch.until("its record, too", lambda: _records(cluster)[-1], "FAILED|1:0")
        watch.noticed(f"srun shows the job's own error: {_NO_SPACE}")
        log = cluster.log(worker, PROVISIONING_LOG)
        with scripts_run(cluster, worker) as run:
            watch.until("the scripts report it", lambda: _is_said(log), wanted=True)
            watch.until("the node stays in service", lambda: cluster.state(worker), "idle")
            root.run(["rm", f"{cluster.shared}/filler"])
            watch.repaired("a user freed space")
            run.require_success(watch)
        watch.until("the job can write", lambda: _write(cluster), "")
        watch.recovered("the same job completes, on nodes that never left service")
        SteadyJob.start(cluster, watch).finish()


def _write(cluster: FaultCluster) -> str:
    """Let a job write; return its error as far as it is known, or nothing if it completed."""
    write = ["bash", "-c", _WRITES.format(cluster.home)]
    try:
        cluster.user.run(["srun", f"--job-name={_JOB}", f"--partition={cluster.partition}", *write])
    except CommandFailed as failure:
        return _NO_SPACE if _NO_SPACE in str(failure) else str(failure)
    return ""


def _records(cluster: FaultCluster) -> list[str]:
    """Return how the jobs that wrote have ended, the last one at the end."""
    ask = ["sacct", "--noheader", "--allocations", "--parsable2", f"--name={_JOB}"]
    return cluster.user.run([*ask, "--format=State,ExitCode"]).splitlines()


def _is_said(log: NodeLog) -> bool:
    said = [line for line in log.new().splitlines() if " self_check: waiting: " in line]
    return _NO_SPACE in "".join(said)


@contextmanager
def _small_file_system(cluster: FaultCluster) -> Iterator[None]:
    """Replace the shared file system of all nodes by a small one with the same contents."""
    place, shared = file_systems(cluster.folder) / _NAME, str(cluster.shared)
    root = cluster.root(cluster.login)
    in_sandbox(cluster.folder, "mkdir", "-p", str(place))
    with ExitStack() as undo:
        undo.enter_context(covered(cluster.folder, place, options="size=2m,mode=755"))
        undo.callback(root.run, ["rm", "--force", f"{shared}/filler"])
        undo.callback(root.run, ["cp", "-a", f"{SEEN_AT}/.", shared])
        root.run(["cp", "-a", f"{shared}/.", SEEN_AT])
        for node in map(cluster.root, cluster.nodes):
            undo.callback(node.run, ["sh", "-c", _UNCOVER, "sh", shared])
            node.run(["mount", "--bind", SEEN_AT, shared])
        yield


FILE_SYSTEM_FULL = Fault(
    name="file-system-full",
    title="FSx is full",
    sees="Jobs that write fail with their own `No space left on device`; their output to a file"
    " there is cut off. Nodes stay in service, other jobs continue, `df` shows 100 %.",
    logged="The job's output and its exit code in `sacct`; scripts that run then wait in"
    " `self_check`, with the same message, in /var/log/provision/provisioning.log.",
    recovers="Nothing, until a user frees space or enlarges the file system. Slurm, the nodes and"
    " job records are not affected; users resubmit failed jobs.",
    act=_file_system_full,
)


_REASON = "SlurmdSpoolDir is full"
"""slurmd's reason for draining its node."""

_HELD = "launch_failed_requeued_held"
"""Slurm's reason for a job that could not be started: it does not retry automatically."""

_CLEAR = "rm -r /var/spool/slurmd/job*"
"""The remains of a job that could not be started would prevent its next start there."""


def _root_disk_full(cluster: FaultCluster, watch: Watch) -> None:
    """A worker's root disk has no space left when a job is to start there."""
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log = cluster.log(worker, SLURMD_LOG)
    with _without_space(cluster, worker):
        watch.injected(f"the root disk of {worker} is full")
        job = SteadyJob.submit(cluster, watch, f"--nodelist={worker}")
        watch.until("the node drains", lambda: cluster.state(worker), "drained")
        watch.until("with this reason", lambda: cluster.reason(worker), _REASON)
        watch.noticed(f"{worker} is drained: {_REASON}")
        watch.until("the job is requeued", lambda: (job.state, job.reason), ("PENDING", _HELD))
        watch.until("it logs why", lambda: log.says("No space left on device"), wanted=True)
        bystander.wait_until_it_writes()
    cluster.root(worker).run(["sh", "-c", _CLEAR])
    watch.repaired("an administrator freed space")
    cluster.resume(worker)
    watch.until("the node is back", lambda: cluster.state(worker), "idle")
    cluster.root(cluster.controller).run(["scontrol", "release", job.id])
    job.wait_until_it_runs()
    watch.recovered("the node accepts jobs again, the same job runs there")
    for each in (job, bystander):
        each.finish()


@contextmanager
def _without_space(cluster: FaultCluster, node: str) -> Iterator[None]:
    """Shrink a node's disk to the size of its contents."""
    place = str(disk(cluster.folder, node))
    size, used = in_sandbox(
        cluster.folder, "df", "--block-size=1", "--output=size,used", place
    ).split()[-2:]
    try:
        in_sandbox(cluster.folder, "mount", "-o", f"remount,size={used}", place)
        yield
    finally:
        in_sandbox(cluster.folder, "mount", "-o", f"remount,size={size}", place)


ROOT_DISK_FULL = Fault(
    name="root-disk-full",
    title="A worker's root disk is full",
    sees="`sinfo -R` shows the node drained: `SlurmdSpoolDir is full`. The job that was to start"
    " there is requeued and held: `launch failed requeued held`.",
    logged="slurmd.log on the node: `error: write /var/spool/slurmd/...: No space left on device`.",
    recovers="Other jobs run on other nodes. An administrator frees space, removes the remains of"
    " the job (/var/spool/slurmd/job*) and runs `scontrol update nodename=... state=resume`, or"
    " has the node replaced; then releases the job: `scontrol release JOB`.",
    act=_root_disk_full,
)
