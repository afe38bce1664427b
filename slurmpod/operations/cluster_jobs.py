"""Jobs on a cluster: submitting them, and polling for changes."""

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
"""The most bytes of a log per look; the rest comes with the next one."""

TASKS_SHOWN = 5
LOG, NODES = "slurmpod-log", "slurmpod-nodes"


class UnknownJob(WorkFailed):
    """Slurm does not know a job: it never existed, or ended too long ago."""


class WholeArray(WorkFailed):
    """The job is an array: each task has its own state and log; `task` is one of them."""

    def __init__(self, job: str, tasks: Sequence[str]) -> None:
        self.task = f"{job}_{re.split('[^0-9]', tasks[0])[0]}"
        named = first_of(tasks, TASKS_SHOWN)
        super().__init__(f"job {job} is an array (tasks {named}): give one, such as {self.task}")


@dataclass(frozen=True)
class Sight:
    """The state of a job at one time; `log` is its output from `offset` on."""

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
        """Whether no more changes can follow."""
        return self.state not in UNFINISHED

    @property
    def end(self) -> int:
        """How far the log has been read."""
        return self.offset + len(self.log)

    @property
    def is_read(self) -> bool:
        """Whether the log has been read to its end at this time."""
        return len(self.log) < MOST_BYTES


def submit(
    shell: NodeShell, job: JobFolder, arguments: Sequence[str], variables: Mapping[str, str]
) -> str:
    """Submit a job with these variables; return its id, or that of its after job for an array."""
    starter = ["sbatch", "--parsable"] if job.starter == job.script else ["bash"]
    set_first = "".join(f"{name}={shlex.quote(value)} " for name, value in variables.items())
    command = shlex.join([*starter, f"{job.place}/{job.starter}", *arguments])
    said = shell.run(f"cd {shlex.quote(job.place)} && {recorded(f'{set_first}{command}', job)}")
    numbers = re.findall(r"\b[0-9]+\b", said)
    if not numbers:
        raise CommandFailed(f"sbatch printed no job number: {said.strip()}")
    return str(numbers[-1])


def look(shell: NodeShell, job: str, before: Sight | None = None) -> Sight:
    """Look at a job, and its output since `before`; raises UnknownJob and WholeArray."""
    read, nodes = (before.end, before.nodes) if before else (0, "")
    try:
        said = shell.run(_look_script(job, read, nodes))
    except CommandFailed as error:
        raise UnknownJob(
            f"Slurm does not know job {job} ({error}): it forgets jobs some minutes after their"
            " end; its output stays in its folder"
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
    """Return Slurm's line for a job; for a job with components, the first one's."""
    lines = [line for line in shown.splitlines() if line.startswith("JobId=")]
    if tasks := [value_of(each, "ArrayTaskId") for each in lines
                 if value_of(each, "ArrayJobId") == job]:  # fmt: skip
        raise WholeArray(job, tasks)
    return lines[0]


def _bad_nodes(listed: str) -> Iterator[str]:
    """Yield nodes that accept no more jobs or do not answer, as text."""
    for node in read_sinfo(listed).values():
        if not (node.takes_jobs and node.answers):
            yield f"{node.name} {node.word} {node.reason}".rstrip()


def _look_script(job: str, read: int, nodes: str) -> str:
    """Return the script that prints a job and its log, from `read` or from 0 if it is shorter."""
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
    """Yield the changes of a job between two looks, except for its log."""
    if before and now.restarts > before.restarts:
        yield f"restart {now.restarts} of the job"
    if before and now.offset < before.end:
        yield "its log was truncated, and is read from the start"
    if before is None or (before.state, before.nodes) != (now.state, now.nodes):
        where = f" on {now.nodes}" if now.nodes and not now.has_ended else ""
        why = f" ({now.reason})" if now.state == "PENDING" and now.reason != "None" else ""
        yield f"{now.state.lower()}{where}{why}"
    known = before.bad_nodes if before else ()
    yield from (f"node {line}" for line in now.bad_nodes if line not in known)
    back = {line.split()[0] for line in known} - {line.split()[0] for line in now.bad_nodes}
    yield from (f"node {name} is back" for name in sorted(back) if not now.has_ended)


def queue(shell: NodeShell, job: str | None) -> list[dict[str, str]]:
    """Return the jobs that Slurm knows, or one of them, with squeue's fields."""
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
    """Cancel a job; raises CommandFailed."""
    shell.run(f"scancel {shlex.quote(job)}")
