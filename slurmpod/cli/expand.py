"""`slurmpod expand`: an environment with every default filled in, and all that follows from it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say_next
from slurmpod.cli.plain_data import plain
from slurmpod.problems import ExitCode

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--json", action="store_true", help="print JSON instead of YAML")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the environment (what the file says) and what is resolved from it."""
    environment, resolved = sound_environment(options.file)
    data = {"environment": environment.model_dump(mode="json"), "resolved": plain(resolved)}
    if options.json:
        print_json(data)
        return ExitCode.OK
    sys.stdout.write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    say_next("rehearse", options.file)
    return ExitCode.OK
