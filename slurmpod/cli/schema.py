"""`slurmpod schema`: the JSON Schema with which editors complete and check environment files."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from slurmpod.cli.output import say
from slurmpod.problems import ExitCode
from slurmpod.reading.schema import environment_schema
from slurmpod.whole_file import write_whole

DEFAULT = Path("environments/schema.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = "Print the JSON Schema of environment files, or write it to a file."
    action = parser.add_mutually_exclusive_group()
    for option, text in (("--write", "write it to FILE"), ("--check", "fail if FILE is stale")):
        action.add_argument(
            option,
            type=Path,
            nargs="?",
            const=DEFAULT,
            metavar="FILE",
            help=f"{text} (default: {DEFAULT})",
        )


def run(options: argparse.Namespace) -> ExitCode:
    """Print, write or check the schema."""
    text = json.dumps(environment_schema(), indent=2) + "\n"
    if options.write:
        write_whole(options.write, text)
        return ExitCode.OK
    if options.check:
        return _check(options.check, text)
    sys.stdout.write(text)
    return ExitCode.OK


def _check(file: Path, text: str) -> ExitCode:
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return ExitCode.OK
    say(f"{file} is out of date; run: slurmpod schema --write {file}")
    return ExitCode.FAILED
