"""The time from a worker's power cut to the next step of its training.

With `srun --auto-resume=1`, HyperPod replaces the node and the step continues in the same job (in a
rehearsal where nodes return by themselves: docs/resume.md). Slurm alone, with HyperPod's settings,
waits for SlurmdTimeout and requeues the job onto a spare node.

The parts of the first are from the platform's journal; those of the second are Slurm's accounting
records, in whole seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from benchmarks.clusters import make, our_scripts, upload
from benchmarks.measure import Row
from slurmpod.rehearsal.shell import Shell
from slurmpod.rehearsal.state import JournalReader
from tests.nodes.hyperpod_lab import HyperPodLab, hostname

FOLDER = "/fsx/ubuntu"
LOG = f"{FOLDER}/training.log"
STEPS_BEFORE = 70
PATIENCE_SECONDS = 1200

TRAINING = f"""\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --exclusive --partition=cpu
#SBATCH --requeue --open-mode=append --output={LOG}
srun {{option}} bash -c '
[ "$SLURM_PROCID" = 0 ] || exec sleep infinity
cd {FOLDER}
step=$(cat checkpoint 2>/dev/null || echo 0)
echo "started at $(date +%s.%N)"
echo "begins after $step"
while sleep 0.1; do
    step=$((step + 1))
    echo "step $step"
    [ $((step % 50)) != 0 ] || {{{{ echo $step >checkpoint.new && mv checkpoint.new checkpoint; }}}}
done'
"""
"""A training with ten steps a second that saves every fifty; the length of a step does not
matter."""


@dataclass(frozen=True)
class PowerCut:
    """A worker whose power was cut during a job, and when, by the clocks of journals and logs."""

    lab: HyperPodLab
    head: Shell
    job: str
    worker: str
    monotonic: float
    of_day: float


@dataclass(frozen=True)
class Recovery:
    """How long training stopped, and how many steps were repeated.

    `until` is when each part ended, in seconds since the power cut.
    """

    seconds: float
    steps_lost: int
    until: Mapping[str, float]


def recovery_rows(lab: HyperPodLab) -> Iterable[Row]:
    """Cut the power of a worker in two clusters, one after the other."""
    resumed = _recovery(
        lab, workers=2, option="--auto-resume=1", recovery="Automatic", parts=_parts_of_platform
    )
    requeued = _recovery(lab, workers=3, option="", recovery="None", parts=_parts_of_slurm)
    lost = f"{resumed.steps_lost} steps trained twice, {requeued.steps_lost} when requeued"
    yield Row(
        f"power cut to next step of training ({lost})",
        resumed.seconds,
        "Slurm with --requeue",
        requeued.seconds,
    )
    yield from _part_rows("auto-resume", resumed)
    yield from _part_rows("requeue", requeued)


def _part_rows(how: str, recovery: Recovery) -> Iterable[Row]:
    ends = {"": 0.0, **recovery.until, "next step of training": recovery.seconds}
    for (_, begin), (part, end) in pairwise(ends.items()):
        yield Row(f"power cut, {how}: {part}", end - begin, "all of it", recovery.seconds)


NOTES = {
    "noticed": "is faulty",
    "new instance booted": "booted",
    "lifecycle scripts run": "lifecycle scripts succeeded",
    "slurmd registered": "is in service again",
}
"""The beginnings of the journal's entries about a node at the end of each part."""

STARTED = "started at "


def _parts_of_platform(cut: PowerCut) -> dict[str, float]:
    """Return when the platform recorded the end of each part."""
    until: dict[str, float] = {}
    for event in JournalReader(cut.lab.folder).new_events():
        if event.at_seconds < cut.monotonic or not event.subject.endswith(cut.worker):
            continue
        for part, note in NOTES.items():
            if event.what.startswith(note):
                until.setdefault(part, event.at_seconds - cut.monotonic)
    return {**until, "step started": _last_start(cut.head) - cut.of_day}


def _parts_of_slurm(cut: PowerCut) -> dict[str, float]:
    """Return when Slurm marked the node as down, and when it restarted the job."""
    command = ["sacct", "--duplicates", "--allocations", "--noheader", "--parsable2"]
    records = cut.head.run([*command, "--format=Start,End", f"--jobs={cut.job}"]).splitlines()
    (_, down), (started, _) = (record.split("|") for record in records)
    return {
        "node down, job requeued": _seconds(down) - cut.of_day,
        "job started": _seconds(started) - cut.of_day,
        "step started": _last_start(cut.head) - cut.of_day,
    }


def _seconds(time_of_slurm: str) -> float:
    """Return a time in the format of nodes, whose zone is UTC."""
    return datetime.fromisoformat(time_of_slurm).replace(tzinfo=UTC).timestamp()


Parts = Callable[[PowerCut], dict[str, float]]


def _recovery(
    lab: HyperPodLab, *, workers: int, option: str, recovery: str, parts: Parts
) -> Recovery:
    uri = upload(lab, our_scripts(lab, workers))
    name = make(lab, workers, uri, NodeRecovery=recovery)
    head = lab.shell(name, "head")
    job = head.run(["sbatch", "--parsable"], stdin=TRAINING.format(option=option))
    _until(lambda: _last_step(head) >= STEPS_BEFORE)
    used = head.run(["squeue", "--noheader", "--format=%N", f"--jobs={job}"])
    hosts = head.run(["scontrol", "show", "hostnames", used]).split()
    batch_host = head.run(["squeue", "--noheader", "--format=%B", f"--jobs={job}"])
    names = [hostname(node) for node in lab.nodes(name, "cpu")]
    victim = next(each for each in names if each in hosts and each != batch_host)
    cut = PowerCut(lab, head, job, victim, time.monotonic(), time.time())
    lab.machines.power_cut(victim)
    _until(lambda: len(_beginnings(head)) > 1 and _last_step(head) > _beginnings(head)[-1])
    seconds = time.monotonic() - cut.monotonic
    until = parts(cut)
    before = _log(head).rpartition("begins after")[0]
    lost = _steps(before)[-1] - _beginnings(head)[-1]
    head.run(["scancel", job])
    head.run(["rm", "-f", LOG, f"{FOLDER}/checkpoint"])
    lab.delete(name)
    return Recovery(seconds, lost, until)


def _last_start(head: Shell) -> float:
    """Return when the current run of the training began."""
    lines = [line for line in _log(head).splitlines() if line.startswith(STARTED)]
    return float(lines[-1].removeprefix(STARTED))


def _log(head: Shell) -> str:
    return head.run(["sh", "-c", f"cat {LOG} 2>/dev/null || true"])


def _beginnings(head: Shell) -> list[int]:
    """Return after which step each run of the training began."""
    lines = _log(head).splitlines()
    return [int(line.rpartition(" ")[2]) for line in lines if line.startswith("begins after ")]


def _last_step(head: Shell) -> int:
    """Return the last step of the current run; 0 before its first one."""
    return next(reversed(_steps(_log(head).rpartition("begins after")[2])), 0)


def _steps(log: str) -> list[int]:
    lines = log.splitlines()
    return [int(line.rpartition(" ")[2]) for line in lines if line.startswith("step ")]


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"no recovery within {PATIENCE_SECONDS} s")
        time.sleep(0.1)
