"""Slurm's own view of a cluster: nodes by state, jobs, file systems; asked on a controller at once.

Slurm folds nodes that are alike itself, so that 5,000 of them are a few lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slurmpod.operations.questions import as_root, question
from slurmpod.slurm.hostlist import expanded

NODES, JOBS, FOLDERS, SLURM, SYSTEM = "nodes", "jobs", "folders", "slurm", "system"
SECONDS = 20
"""How long one command may take: without slurmctld Slurm's commands try again and again."""

FOLDER_SECONDS = 5
"""How long a file system may take to answer; one that is gone never does."""

_FIELD = "|"


@dataclass(frozen=True)
class ListedNode:
    """A node as `sinfo` lists it; who took it out of service, when (ISO 8601) and why, or empty."""

    state: str
    who: str
    since: str
    reason: str


@dataclass(frozen=True)
class Job:
    """A job in the queue; `reason` says why it waits, or is the list of its nodes."""

    id: str
    state: str
    user: str
    partition: str
    node_count: str
    runs_for: str
    reason: str
    name: str

    @property
    def tasks(self) -> int:
        """How many jobs it is: an array that waits is one line of the queue."""
        return len(expanded(self.id.partition("%")[0].removesuffix("]") + "]" * ("[" in self.id)))


@dataclass(frozen=True)
class Fill:
    """A file system as `df` tells it; `size_bytes` is None where it did not answer in time."""

    path: str
    size_bytes: int | None
    used_bytes: int | None


@dataclass(frozen=True)
class Overview:
    """What a controller told; `failure` is what Slurm said where it did not answer."""

    nodes: Mapping[str, ListedNode]
    jobs: tuple[Job, ...]
    fills: tuple[Fill, ...]
    version: str
    system: str
    failure: str


def size_text(count: float) -> str:
    """Return a number of bytes with a unit that leaves few digits."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"


def view_command(folders: Sequence[str]) -> str:
    """Return what a shell on a controller has to do; it only reads."""
    sinfo = f"timeout {SECONDS} sinfo --all --noheader --format='%N|%T|%u|%H|%E' 2>&1"
    squeue = f"timeout {SECONDS} squeue --all --noheader --format='%i|%T|%u|%P|%D|%M|%R|%j' 2>&1"
    system = '. /etc/os-release; echo "$PRETTY_NAME, kernel $(uname -r)"'
    return as_root(
        "PATH=/opt/slurm/bin:$PATH\n"
        + question(SLURM, "sinfo --version")
        + question(SYSTEM, system)
        + question(NODES, sinfo)
        + question(JOBS, squeue)
        + question(FOLDERS, "\n".join(map(_df, folders)) or "true")
    )


def read_view(answers: Mapping[str, str]) -> Overview:
    """Read what `view_command` printed."""
    lines = answers[NODES].splitlines()
    said = [line for line in lines if line.count(_FIELD) < 4 and line.strip()]
    return Overview(
        nodes=dict(_nodes(lines)),
        jobs=tuple(_jobs(answers[JOBS].splitlines())),
        fills=tuple(_fills(answers[FOLDERS].splitlines())),
        version=answers[SLURM].strip(),
        system=answers[SYSTEM].strip(),
        failure=said[-1].strip() if said else "",
    )


def _df(folder: str) -> str:
    path = shlex.quote(folder)
    df = f"timeout {FOLDER_SECONDS} df --block-size=1 --output=size,used {path} 2>/dev/null"
    return f'echo {path}"|$({df} | tail -n 1)"'


def _nodes(lines: Sequence[str]) -> Iterator[tuple[str, ListedNode]]:
    for line in lines:
        fields = line.split(_FIELD, 4)
        if len(fields) == 5:
            names, state, who, since, reason = (field.strip() for field in fields)
            known = (who, since, reason) if reason not in ("", "none") else ("", "", "")
            node = ListedNode(state, *known)
            for name in expanded(names):
                yield name, node


def _jobs(lines: Sequence[str]) -> Iterator[Job]:
    for line in lines:
        fields = line.split(_FIELD, 7)
        if len(fields) == 8:
            yield Job(*(field.strip() for field in fields))


def _fills(lines: Sequence[str]) -> Iterator[Fill]:
    for line in lines:
        path, _, sizes = line.partition(_FIELD)
        size, used = (*sizes.split(), "", "")[:2]
        if size.isdecimal() and used.isdecimal():
            yield Fill(path, int(size), int(used))
        elif path:
            yield Fill(path, None, None)
