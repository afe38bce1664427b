"""`slurmpod job`: batch scripts for a HyperPod cluster: checked, or rendered for it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from slurmpod.cli import job_render
from slurmpod.cli.output import counted, print_json
from slurmpod.jobs.lint import lint, unreadable
from slurmpod.problems import ExitCode, Problem, Severity, has_errors
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.resolve import Resolved


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    checks = actions.add_parser("lint", help="show every problem of batch scripts")
    checks.add_argument("scripts", type=Path, nargs="+", metavar="FILE", help="batch scripts")
    checks.add_argument("--env", type=Path, metavar="ENV", help="hold them against this cluster")
    checks.add_argument("--json", action="store_true", help="print the problems as JSON")
    checks.set_defaults(act=_lint)
    renders = actions.add_parser("render", help="make a job that resumes for a cluster")
    job_render.add_arguments(renders)
    renders.set_defaults(act=job_render.run)


def run(options: argparse.Namespace) -> ExitCode:
    """Do what the chosen action does."""
    code: ExitCode = options.act(options)
    return code


def _lint(options: argparse.Namespace) -> ExitCode:
    """Check the scripts and print what is wrong with them."""
    resolved = _resolved(options.env) if options.env else None
    problems = [problem for file in options.scripts for problem in _problems(file, resolved)]
    if options.json:
        files = list(map(str, options.scripts))
        print_json({"files": files, "problems": [problem.as_dict() for problem in problems]})
    else:
        _print_text(problems, len(options.scripts))
    return ExitCode.INVALID if has_errors(problems) else ExitCode.OK


def _resolved(file: Path) -> Resolved:
    from slurmpod.cli.environment import sound_environment  # only needed with --env

    return sound_environment(file).resolved


def _problems(file: Path, resolved: Resolved | None) -> Sequence[Problem]:
    try:
        return lint(str(file), read_text(file), resolved)
    except Unreadable as error:
        return [unreadable(str(file), error.message)]


def _print_text(problems: Sequence[Problem], files: int) -> None:
    if problems:
        from slurmpod.problem_text import problems_text  # only needed on mistakes

        sys.stdout.write(problems_text(problems, sys.stdout) + "\n\n")
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    counts = ((errors, "error"), (len(problems) - errors, "warning"))
    found = ", ".join(counted(count, noun) for count, noun in counts if count)
    sys.stdout.write(f"{counted(files, 'script')}: {found or 'no problems'}\n")
