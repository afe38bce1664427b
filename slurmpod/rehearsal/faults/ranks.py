"""Faults of one process of a multi-node training: all others wait for it, and the job hangs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

from slurmpod.jobs.watcher import watcher_files
from slurmpod.rehearsal.faults import two_ranks
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import FaultFailed, Watch

HANG_SECONDS = 8
STRIKE_SECONDS = 60
PROGRAM = Path(two_ranks.__file__)
_STEP = re.compile(r"^step (\d+) loss ")
_SCRIPT = f"""#!/bin/bash
cd {{folder}}
python3 slurmpod_watch/watch.py --action restart --hang-after {HANG_SECONDS} -- \\
    srun --ntasks-per-node=1 --kill-on-bad-exit=1 python3 {PROGRAM.name}
echo end
"""

_RANK = r"""
steps=$(grep -lszE '^SLURM_STEP_ID=[0-9]{1,9}$' /proc/[0-9]*/environ | cut -d/ -f3)
ranks=
for pid in $steps; do ! grep -qsz '^RANK=' /proc/$pid/environ || ranks="$ranks $pid"; done
for pid in ${ranks:-$steps}; do
    case $(readlink /proc/$pid/exe) in */python*) echo $pid; break ;; esac
done
"""
"""Prints the training's first process on a node, found as in `slurmpod_watch/node.py`."""

_CRAWL = "while :; do kill -STOP {0}; sleep 2.8; kill -CONT {0}; sleep 0.2; done"
_UNIT = "fault-crawl"


class WatchedTraining(SteadyJob):
    """A training on both workers that its watcher restarts when it hangs."""

    @classmethod
    def script(cls, cluster: FaultCluster, folder: Path) -> str:
        """Write the training and its watcher to the folder."""
        files = {**watcher_files(), PROGRAM.name: PROGRAM.read_bytes()}
        cluster.user.run(["mkdir", str(folder / "slurmpod_watch")])
        for name, content in files.items():
            put = ["sh", "-c", 'cat >"$1"', "-", str(folder / name)]
            cluster.user.run(put, stdin=content.decode())
        return _SCRIPT.format(folder=folder)

    def _lost_lines(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield missing steps: each restart resumes from a checkpoint, so none may be missing."""
        steps = [int(found[1]) for line in lines if (found := _STEP.match(line))]
        goes_on = two_ranks.SAVE_EVERY
        if any(after != before + 1 and after % goes_on != 1 for before, after in pairwise(steps)):
            yield f"job {self.id}: steps of its training"


def rank_on(cluster: FaultCluster, node: str) -> str:
    """Return the pid of a training's process on a node; raises FaultFailed without one."""
    found = cluster.root(node).run(["bash", "-c", _RANK])
    if not found:
        raise FaultFailed(f"no Python of a job's step runs on {node}")
    return found


def _loader_on(cluster: FaultCluster, node: str) -> str:
    """Return a child process of the training there, such as one that loads its data."""
    rank = rank_on(cluster, node)
    found = cluster.root(node).run(["sh", "-c", f"pgrep --parent {rank} || true"]).split()
    if not found:
        raise FaultFailed(f"the training on {node} has no process that loads its data")
    return found[0]


@contextmanager
def _crawling(cluster: FaultCluster, node: str) -> Iterator[None]:
    """Give the process of a training less than a tenth of the time while the block runs."""
    root, rank = cluster.root(node), rank_on(cluster, node)
    root.run(["systemd-run", f"--unit={_UNIT}", "sh", "-c", _CRAWL.format(rank)])
    try:
        yield
    finally:
        root.run(["systemctl", "stop", _UNIT])
        root.run(["kill", "-CONT", rank])


def _hangs(
    find: Callable[[FaultCluster, str], str], what: str, cluster: FaultCluster, watch: Watch
) -> None:
    """A process stops: the watcher names its rank and node, and restarts the training."""
    job = WatchedTraining.start(cluster, watch, "--nodes=2", "--exclusive")
    node = cluster.nodes_of(job.id)[-1]
    _wait_for_steps(job, watch)
    _strike(find, what, cluster, watch, (node,))
    watch.until("its comment says so", lambda: f"rank 1 on {node} " in job.comment, wanted=True)
    watch.noticed(job.comment.partition(" hang: ")[2])
    watch.until("it continues", lambda: " over: " in job.comment, wanted=True)
    watch.recovered("the training resumed from its checkpoint, in the same job")
    job.wait_until_it_writes()
    job.finish()


def _strike(
    find: Callable[[FaultCluster, str], str],
    what: str,
    cluster: FaultCluster,
    watch: Watch,
    nodes: Sequence[str],
) -> None:
    """Stop a process on the last node of a job."""
    cluster.root(nodes[-1]).run(["kill", "-STOP", find(cluster, nodes[-1])])
    watch.injected(f"{what} on {nodes[-1]} is stopped")


def _crawls(cluster: FaultCluster, watch: Watch) -> None:
    """A process becomes slow, and so do all others: the watcher names its rank and node."""
    job = WatchedTraining.start(cluster, watch, "--nodes=2", "--exclusive")
    node = cluster.nodes_of(job.id)[-1]
    _wait_for_steps(job, watch)
    with _crawling(cluster, node):
        watch.injected(f"the training on {node} gets less than a tenth of its time")
        watch.until("its comment says so", lambda: f"rank 1 on {node} " in job.comment, wanted=True)
        watch.noticed(job.comment.partition(" crawl: ")[2])
    watch.repaired("it gets all of its time")
    job.wait_until_it_writes()
    watch.recovered("the training continues as before")
    job.finish()


def _crawl_for_a_while(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    with _crawling(cluster, nodes[-1]):
        watch.injected(f"the training on {nodes[-1]} gets less than a tenth of its time")
        watch.hold("it crawls", STRIKE_SECONDS)
    watch.repaired("it gets all of its time")


def _wait_for_steps(job: SteadyJob, watch: Watch) -> None:
    """Wait until the watcher knows the usual pace."""
    for _ in range(12):
        watch.hold("the training has its usual pace", 1.0)
        job.wait_until_it_writes()


_SEES = (
    "The training prints no more steps; squeue shows the job as running. After the time of ten"
    " usual steps, and at least 5 minutes, its output says `slurmpod-watch: hang:`, with"
)
_LOGGED = (
    "The job's output and comment (`squeue --format=%k`), and `slurmpod why`. The folder"
    " `slurmpod_watch-JOB` has the state of every rank."
)
_RECOVERS = (
    "With `--watch restart` the watcher ends the step and starts it again, and the training resumes"
    " from its last checkpoint; with `requeue` possibly on other nodes. Otherwise a user does so."
)

RANK_HANGS = Fault(
    name="rank-hangs",
    title="A process of a training on two nodes hangs",
    sees=f"{_SEES} the rank, its node and its process.",
    logged=_LOGGED,
    recovers=_RECOVERS,
    act=partial(_hangs, rank_on, "the training"),
    strike=partial(_strike, rank_on, "the training"),
)

RANK_CRAWLS = Fault(
    name="rank-crawls",
    title="A process of a training on two nodes becomes slow",
    sees="All steps take longer, as all ranks wait for the slow one. If ten of them took three"
    " times their usual duration, its output says `slurmpod-watch: crawl:`, with the rank, its"
    " node and its process.",
    logged=_LOGGED,
    recovers="Nothing is restarted: a user has to find out what takes the CPU time of that node.",
    act=_crawls,
    strike=_crawl_for_a_while,
)

LOADER_STALLS = Fault(
    name="loader-stalls",
    title="A training's data loader stops",
    sees=f"{_SEES} the rank that waits for its data, and the process that it waits for.",
    logged=_LOGGED,
    recovers=_RECOVERS,
    act=partial(_hangs, _loader_on, "the data loader"),
    strike=partial(_strike, _loader_on, "the data loader"),
)
