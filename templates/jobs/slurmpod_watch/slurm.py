"""What the watcher asks of Slurm, and has it do, for the job that it runs in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60
"""How long a command may take; a controller may be away."""

MARK = "slurmpod-watch "
"""What begins the watcher's part of a job's comment."""

LONGEST = 700
"""Characters of it."""


@dataclass(frozen=True)
class Job:
    """A job of Slurm, by its number."""

    id: str

    def log(self) -> str:
        """Return the file that it writes to; empty where that is not known."""
        return self._shown("StdOut")

    def nodes(self) -> list[str]:
        """Return the names of its nodes as they are now."""
        return _run("scontrol", "show", "hostnames", self._shown("NodeList")).split()

    def steps(self) -> set[str]:
        """Return the numbers of its steps, without Slurm's own."""
        shown = _run("squeue", "--steps", "--noheader", f"--jobs={self.id}", "--format=%i")
        return set(re.findall(rf"^{self.id}\.(\d+)$", shown.replace(" ", ""), re.MULTILINE))

    def look(self, looks: int, count: int, seconds: float) -> str:
        """Return what node.py prints on all nodes, or on those that answer in time."""
        command = [
            *("srun", f"--jobid={self.id}", "--overlap", "--input=none", "--kill-on-bad-exit=0"),
            *(f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--cpus-per-task=1"),
            *(sys.executable, str(Path(__file__).with_name("node.py")), "--job", self.id),
            *("--looks", str(looks)),
        ]
        return _run(*command, seconds=seconds)

    def comment(self, text: str) -> None:
        """Let everybody who asks for the job read it; what its user wrote there stays."""
        before = self._shown("Comment").partition(MARK)[0].strip()
        said = f"{before} {MARK}{text}".strip()[:LONGEST].replace("=", ":").replace("|", "/")
        _run("scontrol", "update", f"jobid={self.id}", f"comment={said}")

    def requeue(self) -> None:
        """Give the nodes back; the job begins again in the queue."""
        _run("scontrol", "requeue", self.id)

    def kill(self, step: str) -> None:
        """End a step at once, also one that hears nothing."""
        _run("scancel", "--signal=KILL", f"{self.id}.{step}")

    def _shown(self, field: str) -> str:
        line = _run("scontrol", "--oneliner", "show", "job", self.id)
        found = re.search(rf"(?:^|\s){field}=(.*?)(?=\s+\w[\w:/.]*=|\s*$)", line)
        return "" if not found or found[1] == "(null)" else found[1]


def _run(*command: str, seconds: float = SECONDS) -> str:
    """Return what a command prints, also one that fails or takes too long."""
    settings = {**os.environ, "SLURM_LABELIO": "0"}
    with (
        suppress(OSError),
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=settings
        ) as running,
    ):
        try:
            return running.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            running.kill()
            return running.communicate()[0] or ""
    return ""
