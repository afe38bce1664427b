"""The watcher's commands to Slurm, for the job that it runs in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60
"""The time limit of a command; a controller may be away."""

MARK = "slurmpod-watch "
"""The prefix of the watcher's part of a job's comment."""

LONGEST = 700
"""Its maximum length in characters."""


@dataclass(frozen=True)
class Job:
    """A job of Slurm, by its number."""

    id: str

    def log(self) -> str:
        """Return its output file, or an empty text if that is not known."""
        return self._shown("StdOut")

    def nodes(self) -> list[str]:
        """Return the current names of its nodes."""
        return _run("scontrol", "show", "hostnames", self._shown("NodeList")).split()

    def steps(self) -> set[str]:
        """Return the numbers of its steps, without Slurm's own."""
        shown = _run("squeue", "--steps", "--noheader", f"--jobs={self.id}", "--format=%i")
        return set(re.findall(rf"^{self.id}\.(\d+)$", shown.replace(" ", ""), re.MULTILINE))

    def look(self, looks: int, count: int, seconds: float) -> str:
        """Return node.py's output from all nodes that answer in time."""
        command = [
            *("srun", f"--jobid={self.id}", "--overlap", "--input=none", "--kill-on-bad-exit=0"),
            *(f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--cpus-per-task=1"),
            *(sys.executable, str(Path(__file__).with_name("node.py")), "--job", self.id),
            *("--looks", str(looks)),
        ]
        return _run(*command, seconds=seconds)

    def comment(self, text: str) -> None:
        """Set the job's comment, which all users see; the user's own comment stays."""
        before = self._shown("Comment").partition(MARK)[0].strip()
        said = f"{before} {MARK}{text}".strip()[:LONGEST].replace("=", ":").replace("|", "/")
        _run("scontrol", "update", f"jobid={self.id}", f"comment={said}")

    def requeue(self) -> None:
        """Requeue the job: its nodes are released, and it starts again."""
        _run("scontrol", "requeue", self.id)

    def kill(self, step: str) -> None:
        """End a step at once, even one that ignores signals."""
        _run("scancel", "--signal=KILL", f"{self.id}.{step}")

    def _shown(self, field: str) -> str:
        line = _run("scontrol", "--oneliner", "show", "job", self.id)
        found = re.search(rf"(?:^|\s){field}=(.*?)(?=\s+\w[\w:/.]*=|\s*$)", line)
        return "" if not found or found[1] == "(null)" else found[1]


def _run(*command: str, seconds: float = SECONDS) -> str:
    """Return the output of a command, even if it fails or times out."""
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
