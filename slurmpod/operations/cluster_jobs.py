"""Jobs on a cluster: submitted, seen from time to time, and what is new since the last time."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slurmpod.operations.copying.record import recorded
from slurmpod.operations.job_folder import JobFolder
from slurmpod.operations.node_shell import CommandFailed, NodeShell
from slurmpod.problems import WorkFailed, first_of
from slurmpod.slurm.fields import value_of
from slurmpod.slurm.nodes import read_sinfo, sinfo
from slurmpod.slurm.queue import read_queue, squeue

UNFINISHED = frozenset(
    {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED", "SUSPENDED", "STOPPED"}
    | {"REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESIZING", "SIGNALING", "STAGE_OUT"}
)
"""States of Slurm in which a job has not ended (squeue(1), JOB STATE CODES)."""

MOST_BYTES = 100_000
"""What one look takes of a log; the rest comes with the next one."""

TASKS_SHOWN = 5
LOG, NODES = "slurmpod-log", "slurmpod-nodes"


class UnknownJob(WorkFailed):
    """Slurm does not know a job: there was none, or it is over for so long that it is forgotten."""


class WholeArray(WorkFailed):
    """An array: each of its tasks has a state and a log of its own; `task` is one of them."""

    def __init__(self, job: str, tasks: Sequence[str]) -> None:
        self.task = f"{job}_{re.split('[^0-9]', tasks[0])[0]}"
        named = first_of(tasks, TASKS_SHOWN)
        super().__init__(f"job {job} is an array (tasks {named}): give one, such as {self.task}")


@dataclass(frozen=True)
class Sight:
    """What is seen of a job at one time; `log` is what it wrote from `offset` on."""

    job: str
    state: str
    reason: str
    restarts: int
    nodes: str
    file: str
    exit_code: str
    log: bytes = b""
    offset: int = 0
    bad_nodes: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether nothing comes after this."""
        return self.state not in UNFINISHED

    @property
    def end(self) -> int:
        """Up to where the log has been read."""
        return self.offset + len(self.log)

    @property
    def is_read(self) -> bool:
        """Whether the log has been read up to where it ended at this time."""
        return len(self.log) < MOST_BYTES


def submit(
    shell: NodeShell, job: JobFolder, arguments: Sequence[str], variables: Mapping[str, str]
) -> str:
    """Submit a job with these variables; return its id, of an array that of the job after it."""
    starter = ["sbatch", "--parsable"] if job.starter == job.script else ["bash"]
    set_first = "".join(f"{name}={shlex.quote(value)} " for name, value in variables.items())
    command = shlex.join([*starter, f"{job.place}/{job.starter}", *arguments])
    said = shell.run(f"cd {shlex.quote(job.place)} && {recorded(f'{set_first}{command}', job)}")
    numbers = re.findall(r"\b[0-9]+\b", said)
    if not numbers:
        raise CommandFailed(f"sbatch did not tell the job's number: {said.strip()}")
    return str(numbers[-1])


def look(shell: NodeShell, job: str, before: Sight | None = None) -> Sight:
    """Look at a job, and at what it wrote since `before`; raises UnknownJob and WholeArray."""
    read, nodes = (before.end, before.nodes) if before else (0, "")
    try:
        said = shell.run(_look_script(job, read, nodes))
    except CommandFailed as error:
        raise UnknownJob(
            f"Slurm does not know job {job} ({error}): it forgets jobs some minutes after their"
            " end; what one wrote stays in its folder"
        ) from None
    shown, _, rest = said.partition(f"{LOG} ")
    offset, _, rest = rest.partition("\n")
    encoded, _, states = rest.partition(f"{NODES}\n")
    line = _line(shown, job)
    return Sight(
        job=job,
        state=value_of(line, "JobState"),
        reason=value_of(line, "Reason"),
        restarts=int(value_of(line, "Restarts") or 0),
        nodes=value_of(line, "NodeList"),
        file=value_of(line, "StdOut"),
        exit_code=value_of(line, "ExitCode"),
        log=base64.b64decode(encoded),
        offset=int(offset),
        bad_nodes=tuple(_bad_nodes(states)),
    )


def _line(shown: str, job: str) -> str:
    """Return the line in which Slurm shows a job, of one with several parts that of the first."""
    lines = [line for line in shown.splitlines() if line.startswith("JobId=")]
    if tasks := [value_of(each, "ArrayTaskId") for each in lines
                 if value_of(each, "ArrayJobId") == job]:  # fmt: skip
        raise WholeArray(job, tasks)
    return lines[0]


def _bad_nodes(listed: str) -> Iterator[str]:
    """Yield the nodes on which no job goes on, or that do not answer, as people read them."""
    for node in read_sinfo(listed).values():
        if not (node.takes_jobs and node.answers):
            yield f"{node.name} {node.word} {node.reason}".rstrip()


def _look_script(job: str, read: int, nodes: str) -> str:
    """Return what shows a job and its log from where it has been read, or anew if it is shorter."""
    states = f"{sinfo()} --nodes={shlex.quote(nodes)}"
    return (
        f"shown=$(scontrol --oneliner show job {shlex.quote(job)}) ||"
        ' { echo "$shown"; exit 1; }\necho "$shown"\n'
        "[[ $shown =~ \\ StdOut=([^ ]*) ]]; log=${BASH_REMATCH[1]}\n"
        f'from={read}; [[ -r $log && $(stat -L -c %s "$log") -lt from ]] && from=0\n'
        f"echo {LOG} $from\n"
        '[[ -r $log ]] && tail --bytes=+$((from + 1)) "$log" |'
        f" head --bytes={MOST_BYTES} | base64\n"
        f"echo {NODES}\n{states if nodes else ':'}\n"
    )


def news(before: Sight | None, now: Sight) -> Iterator[str]:
    """Yield what has happened to a job between two looks, but for its log."""
    if before and now.restarts > before.restarts:
        yield f"restart {now.restarts} of the job"
    if before and now.offset < before.end:
        yield "its log was emptied, and begins anew"
    if before is None or (before.state, before.nodes) != (now.state, now.nodes):
        where = f" on {now.nodes}" if now.nodes and not now.has_ended else ""
        why = f" ({now.reason})" if now.state == "PENDING" and now.reason != "None" else ""
        yield f"{now.state.lower()}{where}{why}"
    known = before.bad_nodes if before else ()
    yield from (f"node {line}" for line in now.bad_nodes if line not in known)
    back = {line.split()[0] for line in known} - {line.split()[0] for line in now.bad_nodes}
    yield from (f"node {name} is back" for name in sorted(back) if not now.has_ended)


def queue(shell: NodeShell, job: str | None) -> list[dict[str, str]]:
    """Return the jobs that Slurm knows, or one of them, each with what squeue shows."""
    which = [f"--jobs={shlex.quote(job)}", "--states=all"] if job else []
    return [
        {
            "id": each.id,
            "user": each.user,
            "state": each.state,
            "time": each.elapsed,
            "nodes": each.nodes,
            "reason": each.reason,
            "name": each.name,
        }
        for each in read_queue(shell.run(squeue(*which)))
    ]


def cancel(shell: NodeShell, job: str) -> None:
    """End a job; raises CommandFailed."""
    shell.run(f"scancel {shlex.quote(job)}")
