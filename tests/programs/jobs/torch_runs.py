"""Runs of a recipe's program with PyTorch, several processes each, without a cluster."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from slurmpod.jobs.recipes.recipe import Recipe
from tests.nodes.torch_folder import torch_folder

FORKED = Path(__file__).with_name("forked_programs.py")


@dataclass(frozen=True)
class Run:
    """One run: its processes, and what they are given; `removed` is a file of an earlier run.

    `program` is another one than the recipe's.
    """

    name: str
    processes: int
    arguments: tuple[str, ...]
    removed: str = ""
    program: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and what its processes printed."""

    status: int
    logs: tuple[str, ...]

    @property
    def log(self) -> str:
        """What the first process printed."""
        return self.logs[0]

    @property
    def losses(self) -> dict[int, float]:
        """The loss of each step."""
        lines = re.findall(r"^step (\d+) loss (\S+)", self.log, re.MULTILINE)
        return {int(step): float(loss) for step, loss in lines}


def outcomes(recipe: Recipe, folder: Path, runs: Sequence[Run]) -> list[Outcome]:
    """Run the program in `folder`, one run after the other."""
    python = torch_folder() / "python"
    for name, content in recipe.programs.items():
        (folder / name).write_bytes(content)
    given = [
        {**asdict(run), "folder": str(folder), "program": run.program or recipe.program}
        for run in runs
    ]
    done = subprocess.run(
        [python, FORKED],
        input=json.dumps(given),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [_outcome(folder, run) for run in runs]


def _outcome(folder: Path, run: Run) -> Outcome:
    logs = (folder / f"{run.name}-{rank}.log" for rank in range(run.processes))
    status = int((folder / f"{run.name}.status").read_text())
    return Outcome(status, tuple(log.read_text() for log in logs))
