"""`slurmpod job lint`: problems of batch scripts."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.cli.batch_script import problems_of
from slurmpod.cli.output import print_json
from slurmpod.jobs.lint import shows_training, unreadable
from slurmpod.problems import ExitCode, Problem, Severity, counted, has_errors
from slurmpod.reading.text_file import Unreadable, read_text

if TYPE_CHECKING:
    from slurmpod.resolve import Resolved


YAML = frozenset({".yaml", ".yml"})


def run(options: argparse.Namespace) -> ExitCode:
    """Check the scripts and print their problems."""
    resolved = _resolved(options.env) if options.env else None
    problems = [
        problem for file in options.scripts for problem in _problems(file, resolved, options.slurm)
    ]
    unjudged = [str(file) for file in options.scripts if _shows_no_training(file)]
    if options.json:
        print_json(
            {
                "files": list(map(str, options.scripts)),
                "problems": [problem.as_dict() for problem in problems],
                "without_training": unjudged,
            }
        )
    else:
        _print_text(problems, len(options.scripts), unjudged)
    return ExitCode.INVALID if has_errors(problems) else ExitCode.OK


def _resolved(file: Path) -> Resolved:
    from slurmpod.cli.environment import sound_environment  # not needed to check a script alone

    return sound_environment(file).resolved


def _problems(file: Path, resolved: Resolved | None, slurm: str) -> Sequence[Problem]:
    try:
        return problems_of(str(file), _text(file), resolved, partial(_beside, file), slurm)
    except Unreadable as error:
        return [unreadable(str(file), error.message, error.fix)]


def _shows_no_training(file: Path) -> bool:
    """Return whether a script was read and no training was recognized in it."""
    try:
        return not shows_training(str(file), _text(file), partial(_beside, file))
    except Unreadable:
        return False


def _text(file: Path) -> str:
    """Return the text of a script; raises Unreadable, also for an environment."""
    if file.suffix in YAML:
        raise Unreadable("this is YAML, not a batch script", "name an environment with --env")
    return read_text(file)


def _beside(file: Path, name: str) -> str | None:
    """Return the text of a script in the same folder; None if it cannot be read."""
    try:
        return read_text(file.with_name(name))
    except Unreadable:
        return None


def _print_text(problems: Sequence[Problem], files: int, unjudged: Sequence[str]) -> None:
    if problems:
        from slurmpod.problem_text import problems_text  # only needed on mistakes

        sys.stdout.write(problems_text(problems, sys.stdout) + "\n\n")
    counts = Counter(problem.severity for problem in problems)
    found = ", ".join(counted(counts[each], each) for each in Severity if counts[each])
    if unjudged:
        sys.stdout.write(
            f"no training was recognized in {', '.join(unjudged)}: whether it resumes after a "
            "node is replaced was not checked\n"
        )
        found = found or "no problems in the rest"
    sys.stdout.write(f"{counted(files, 'script')}: {found or 'no problems'}\n")
