"""How many batch scripts `slurmpod job lint` judges as the real sbatch does."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.batch_scripts import batch_scripts
from benchmarks.measure import Row
from benchmarks.real_sbatch import answers
from slurmpod.cli.environment import sound_environment
from slurmpod.jobs.lint import verdict
from slurmpod.jobs.options import known_options
from slurmpod.jobs.script import Script, read_script
from slurmpod.platform_profiles.slurm_versions import SlurmVersion
from slurmpod.problems import Problem
from slurmpod.rehearsal.nodes.image import bake
from slurmpod.resolve import Resolved

JOBS = Path(__file__).parents[1] / "tests" / "cases"
ENVIRONMENT = JOBS / "jobs" / "environment.yaml"
GENERATED = 4000
SEED = 1
SHOWN = 20
TARGET = "no disagreement"
ONLY_THERE = {"nodelist": r"^ip-", "exclude": r"^ip-", "dependency": r":[0-9]"}
"""Patterns of names of nodes or jobs, whose existence only the cluster knows."""


class Outcome(StrEnum):
    """The linter's verdict relative to that of sbatch."""

    AGREE = "agree"
    MISSED = "missed refusal"
    FALSE = "false refusal"


@dataclass(frozen=True)
class Comparison:
    """A script, sbatch's output for it, and the reason why the linter expects a rejection."""

    script: str
    outcome: Outcome
    said: str
    found: tuple[Problem, ...]

    def __str__(self) -> str:
        lines = [line for line in self.script.splitlines() if line.startswith("#SBATCH")]
        found = ", ".join(f"{each.rule}: {each.message}" for each in self.found) or "nothing"
        directives = " ".join(line.removeprefix("#SBATCH").strip() for line in lines)
        return f"{self.outcome}: {directives}\n    sbatch: {self.said}\n    lint: {found}"


def lint_rows() -> Iterable[Row]:
    """Compare generated scripts and the public ones, for each version of Slurm."""
    resolved = sound_environment(ENVIRONMENT).resolved
    scripts = [*batch_scripts(GENERATED, SEED), *public_scripts()]
    for slurm in SlurmVersion:
        began = time.perf_counter()
        compared = compare(bake(print, slurm=slurm), resolved, scripts, slurm)
        seconds = (time.perf_counter() - began) / len(scripts)
        counts = Counter(each.outcome for each in compared)
        differing = [each for each in compared if each.outcome is not Outcome.AGREE]
        for each in sorted(differing, key=lambda each: each.outcome)[:SHOWN]:
            print(each, file=sys.stderr)  # noqa: T201  # a command-line program
        figures = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
        what = f"job lint beside sbatch {slurm}: {len(scripts)} scripts: {figures}"
        yield Row(what, seconds, target=TARGET, is_missed=bool(differing))


def compare(
    image: Path, resolved: Resolved, scripts: Sequence[str], slurm: SlurmVersion
) -> list[Comparison]:
    """Return both verdicts on each script; the linter knows the version of Slurm."""
    compared = []
    for script, answer in zip(scripts, answers(image, resolved, scripts), strict=True):
        found = verdict(script, resolved, slurm)
        outcome = Outcome.MISSED if found == () else Outcome.FALSE
        if answer.takes == (found == ()):
            outcome = Outcome.AGREE
        compared.append(Comparison(script, outcome, answer.said, found))
    return compared


def public_scripts() -> Iterator[str]:
    """Yield the scripts of the linter's tests, without those that need pyxis or existing files."""
    pyxis = {name for name, option in known_options().items() if option.of == "pyxis"}
    for file in sorted(JOBS.rglob("*.sbatch")):
        text = file.read_bytes().decode()
        script = read_script("", text)
        names = {option.name for option in script.options}
        if not names & pyxis and not _names_what_is_there(script):
            yield text


def _names_what_is_there(script: Script) -> bool:
    given = ((script.option(name), pattern) for name, pattern in ONLY_THERE.items())
    return any(option and re.search(pattern, option.value) for option, pattern in given)
