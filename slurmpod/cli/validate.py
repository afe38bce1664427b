"""`slurmpod validate`: every problem of every file at once; nothing is deployed or changed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from slurmpod.cli.output import print_json, say, say_next
from slurmpod.environment.editions import FIRST, NEWEST, newer_defaults
from slurmpod.environment.environment import Environment
from slurmpod.problems import (
    ExitCode,
    Problem,
    Severity,
    YamlPath,
    counted,
    format_path,
    has_errors,
)
from slurmpod.reading.extends import environment_files
from slurmpod.reading.placeholders import placeholders
from slurmpod.reading.read import Reading, read
from slurmpod.rules.check import check, check_together, each_once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        default=[Path("environments")],
        metavar="FILE_OR_FOLDER",
        help="environment files, or folders of them without _*.yaml (default: environments)",
    )
    parser.add_argument("--json", action="store_true", help="print the problems as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Check the files and print their problems."""
    files = [file for path in options.paths for file in _environment_files(path)]
    if not files:
        say(f"there are no environment files (*.yaml) in {', '.join(map(str, options.paths))}")
        return ExitCode.USAGE
    readings = [read(file) for file in files]
    found = each_once((reading.source.file, check(reading)) for reading in readings)
    problems = [*found, *check_together(readings)]
    if options.json:
        print_json({"files": list(map(str, files)), "problems": [p.as_dict() for p in problems]})
    else:
        print_problems(problems, files)
        if not has_errors(problems):
            _note_placeholders(readings)
            _note_editions(readings)
            _note_images(readings)
            say_next("rehearse", files[0])
    return ExitCode.INVALID if has_errors(problems) else ExitCode.OK


def _environment_files(path: Path) -> list[Path]:
    return environment_files(path) if path.is_dir() else [path]


def print_problems(problems: Sequence[Problem], files: Sequence[Path]) -> None:
    """Print problems and their number."""
    if problems:
        from slurmpod.problem_text import problems_text  # only needed on mistakes

        sys.stdout.write(problems_text(problems, sys.stdout) + "\n\n")
    sys.stdout.write(f"{counted(len(files), 'file')}: {_summary(problems)}\n")


def _note_placeholders(readings: Sequence[Reading]) -> None:
    """Report the first placeholder that must be replaced before a deployment, not a rehearsal."""
    found = [each for reading in readings for each in placeholders(reading.source)]
    for where, placeholder in found[:1]:
        more = f" ({counted(len(found) - 1, 'more value')} like it)" if len(found) > 1 else ""
        say(f"note: {where}: {placeholder} is a placeholder{more}: replace it before you deploy")


def _note_editions(readings: Sequence[Reading]) -> None:
    """Report a file without an edition, and what the newest one would change."""
    environments = {each.source.file: each.environment for each in readings if each.environment}
    found = {file: _newer_defaults(each) for file, each in environments.items()}
    found = {file: newer for file, newer in found.items() if newer}
    for file, newer in list(found.items())[:1]:
        more = f" ({counted(len(found) - 1, 'more file')} like it)" if len(found) > 1 else ""
        changes = " and ".join(f"{format_path(path)} {value}" for path, value in newer.items())
        say(
            f"note: {file}: no edition{more}: the defaults are those of {FIRST}; "
            f"'edition: {NEWEST}' would make {changes} (docs/modes.md)"
        )


def _newer_defaults(environment: Environment) -> dict[YamlPath, str]:
    if "edition" in environment.model_fields_set:
        return {}
    return newer_defaults(environment.lifecycle, environment.cluster)


def _note_images(readings: Sequence[Reading]) -> None:
    """Report an environment whose groups name no image: new nodes may get a newer one."""
    environments = {each.source.file: each.environment for each in readings if each.environment}
    found = [file for file, each in environments.items() if not each.cluster.names_images]
    for file in found[:1]:
        more = f" ({counted(len(found) - 1, 'more file')} like it)" if len(found) > 1 else ""
        say(f"note: {file}: no group names its image (image_id){more}: new nodes get the newest")


def _summary(problems: Sequence[Problem]) -> str:
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    counts = ((errors, "error"), (len(problems) - errors, "warning"))
    return ", ".join(counted(count, noun) for count, noun in counts if count) or "no problems"
