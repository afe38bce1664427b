"""A node on which commands really run: this machine, with stand-ins for Slurm's programs."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slurmpod.operations.node_shell import node_command, read_output
from slurmpod.problems import WorkFailed

SHOWN = (
    "JobId=12 JobName=x JobState={state} Reason={reason} Dependency=(null) Restarts={restarts}"
    " ExitCode=0:0 Partition=cpu NodeList={nodes} BatchHost=a1 StdOut={log} Power="
)


class LocalShell:
    """A node on which commands really run: this machine, with stand-ins for Slurm's programs."""

    def __init__(self, folder: Path) -> None:
        self.tools = folder / "tools"
        self.log = folder / "job.out"
        self.tools.mkdir()
        self.add("sudo", 'shift 3; exec "$@"')
        self.add("sbatch", f'echo "$PYTHON $*" >> {folder}/submitted; echo "12;cluster"')
        self.add("squeue", "echo '12|RUNNING|ubuntu|cpu|2|1:05|NONE|a[1-2]|None|x | y'")
        self.add("scancel", f"echo $* > {folder}/cancelled")
        self.add("sinfo", ":")
        path = f"{self.tools}:{os.environ['PATH']}"
        self.variables = {"PATH": path, "HOME": str(folder / "home")}
        self.refusals: list[WorkFailed] = []
        self.ran: list[str] = []

    def add(self, name: str, script: str) -> None:
        tool = self.tools / name
        tool.write_text(f"#!/bin/bash\n{script}\n")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    def shows(
        self, state: str, *, nodes: str = "a[1-2]", restarts: int = 0, reason: str = "None"
    ) -> None:
        """Let Slurm show job 12 so."""
        log = self.log
        line = SHOWN.format(state=state, nodes=nodes, restarts=restarts, reason=reason, log=log)
        self.shows_records(line)

    def shows_records(self, *lines: str) -> None:
        """Let Slurm show these records of job 12."""
        records = "\n".join(lines)
        self.add("scontrol", f'[[ $* == *" 12" ]] || exit 1\ncat <<"E"\n{records}\nE')

    def shows_array(self, states: Mapping[str, str]) -> None:
        """Let Slurm show job 12 as an array with these states of its tasks."""
        usual: dict[str, Any] = {"nodes": "a1", "restarts": 0, "reason": "None", "log": self.log}
        lines = (SHOWN.format(state=state, **usual) for state in states.values())
        of_tasks = (f"ArrayJobId=12 ArrayTaskId={task} JobName" for task in states)
        self.shows_records(
            *(line.replace("JobName", of, 1) for line, of in zip(lines, of_tasks, strict=True))
        )

    def run(self, script: str) -> str:
        self.ran.append(script)
        if self.refusals:
            raise self.refusals.pop()
        command = node_command(script, "ubuntu")
        done = subprocess.run(["sh", "-c", command], env=self.variables, capture_output=True)
        return read_output(f"\nStarting session\n{done.stdout.decode()}\nExiting session\n")
