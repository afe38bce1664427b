"""The state of a job's ranks on this node, as a line of JSON for each. Runs on all of its nodes.

A rank is the process with its own RANK, as torchrun starts it, or the Python of a task of srun.
Stacks come from py-spy, if it is installed and permitted; else from the training itself, if its
faulthandler writes them for a signal: into $SLURMPOD_STACKS/RANK.txt, for SIGUSR2.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
STACKS = "SLURMPOD_STACKS"
STACK_SIGNAL = signal.SIGUSR2
SECONDS = 10
"""The time limit of py-spy for a process."""

PAUSE = 0.5
"""The pause between two polls, and the time for the response to a signal."""

DUMP_SECONDS = 3
"""The time limit for PyTorch to write a dump: it polls its pipe once a second."""

OF_FAULTHANDLER = re.compile(
    r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<name>.+)$', re.M
)
OF_PY_SPY = re.compile(r"^    (?P<name>\S.*) \((?P<file>[^()]+):(?P<line>\d+)\)$", re.M)
THREADS = re.compile(r"^(?=Thread |Current thread )", re.M)
HIGHEST_STEP = 4_000_000_000
"""Slurm's own steps, such as that of the batch script, have higher numbers."""


class Process:
    """A process of this node from /proc; fields that cannot be read are empty."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._folder = PROC / str(pid)
        pairs = (pair.partition("=") for pair in self._read("environ").split("\0"))
        self.variables = {name: value for name, _, value in pairs}
        lines = (line.partition(":") for line in self._read("status").splitlines())
        self._status = {name: value.strip() for name, _, value in lines}

    @property
    def state(self) -> str:
        """The letter of its state: R, S, D, T..."""
        return self._status.get("State", "")[:1]

    @property
    def name(self) -> str:
        """The name of its program."""
        return self._status.get("Name", "")

    @property
    def is_python(self) -> bool:
        """Whether it runs Python; PyTorch renames its processes."""
        try:
            return (self._folder / "exe").readlink().name.startswith("python")
        except OSError:
            return False

    @property
    def parent(self) -> int:
        """The process that started it."""
        return int(self._status.get("PPid") or 0)

    @property
    def waits(self) -> str:
        """The function of the kernel in which it waits."""
        found = self._read("wchan").strip()
        return "" if found == "0" else found

    def catches(self, number: int) -> bool:
        """Return whether it handles a signal whose default is to end it."""
        return bool(int(self._status.get("SigCgt") or "0", 16) >> (number - 1) & 1)

    def _read(self, name: str) -> str:
        try:
            return (self._folder / name).read_text(errors="replace")
        except OSError:
            return ""


def processes_of(job: str) -> list[Process]:
    """Return the processes of the job's steps here, without those of this step."""
    found = [Process(int(path.name)) for path in PROC.iterdir() if path.name.isdecimal()]
    own = os.environ.get("SLURM_STEP_ID")
    return [
        each
        for each in found
        if each.variables.get("SLURM_JOB_ID") == job
        and (step := each.variables.get("SLURM_STEP_ID", "")).isdecimal()
        and int(step) < HIGHEST_STEP
        and step != own
    ]


def ranks_of(processes: list[Process]) -> Iterator[tuple[int, Process]]:
    """Yield ranks with their processes; child processes have the same variables."""
    by_pid = {each.pid: each for each in processes}
    has_ranks = any("RANK" in each.variables for each in processes)
    variable = "RANK" if has_ranks else "SLURM_PROCID"
    for each in processes:
        rank, parent = each.variables.get(variable, ""), by_pid.get(each.parent)
        is_one = has_ranks or each.is_python
        is_child = parent and parent.variables.get(variable) == rank
        if is_child and not has_ranks:
            is_child = parent is not None and parent.is_python
        if rank.isdecimal() and is_one and not is_child:
            yield int(rank), each


def look(job: str) -> list[dict[str, object]]:
    """Return one sample of each rank here."""
    processes = processes_of(job)
    found = []
    for rank, each in ranks_of(processes):
        children = [(one.pid, one.state, one.name) for one in processes if one.parent == each.pid]
        found.append(
            {
                "rank": rank,
                "pid": each.pid,
                "state": each.state,
                "waits": each.waits,
                "stack": stack_of(each, rank),
                "children": children,
            }
        )
    return found


def stack_of(process: Process, rank: int) -> list[str]:
    """Return the frames of its main thread, innermost first."""
    return _by_py_spy(process) or _by_signal(process, rank)


def _by_py_spy(process: Process) -> list[str]:
    folder = str(Path(process.variables.get("PYTHON", "")).parent)
    program = shutil.which("py-spy") or shutil.which("py-spy", path=folder)
    if not program:
        return []
    try:
        dump = [program, "dump", "--nonblocking", "--full-filenames", "--pid", str(process.pid)]
        done = subprocess.run(dump, check=False, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return frames(done.stdout, OF_PY_SPY)


def _by_signal(process: Process, rank: int) -> list[str]:
    folder = process.variables.get(STACKS)
    if not folder or process.state == "T" or not process.catches(STACK_SIGNAL):
        return []
    file = Path(folder, f"{rank}.txt")
    try:
        before = file.stat().st_size
        os.kill(process.pid, STACK_SIGNAL)
        time.sleep(PAUSE)
        return frames(file.read_bytes()[before:].decode(errors="replace"), OF_FAULTHANDLER)
    except OSError:
        return []


def frames(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Return the frames of the main thread: py-spy names it, faulthandler writes it last."""
    threads = [each for each in THREADS.split(text) if pattern.search(each)]
    named = [each for each in threads if "MainThread" in each.partition("\n")[0]]
    chosen = (named or threads[-1:] or [""])[0]
    return [f"{each['name']} ({each['file']}:{each['line']})" for each in pattern.finditer(chosen)]


def ask_flight_recorder(process: Process, rank: int) -> bool:
    """Request a dump from PyTorch through its pipe; return whether it was written.

    It is in the /tmp of the process, which may be that of a container.
    """
    stem = process.variables.get("TORCH_NCCL_DEBUG_INFO_PIPE_FILE")
    try:
        pipe = os.open(f"/proc/{process.pid}/root{stem}{rank}.pipe", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # gloo has none
        return False
    os.write(pipe, b"1\n")
    os.close(pipe)
    return True


def main() -> None:
    """Print the samples, as many as requested."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--job", required=True)
    parser.add_argument("--looks", type=int, default=1)
    options = parser.parse_args()
    node = os.environ.get("SLURMD_NODENAME", os.uname().nodename)
    for number in range(options.looks):
        if number:
            time.sleep(PAUSE)
        print(json.dumps({"look": number, "node": node, "ranks": look(options.job)}), flush=True)
    asked = [ask_flight_recorder(each, rank) for rank, each in ranks_of(processes_of(options.job))]
    if any(asked):
        time.sleep(DUMP_SECONDS)


if __name__ == "__main__":
    main()
