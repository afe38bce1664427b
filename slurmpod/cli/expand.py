"""`slurmpod expand`: every value of an environment with its origin, and all that follows."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.origins import origins, with_origins
from slurmpod.cli.output import print_json, say_next
from slurmpod.cli.plain_data import plain
from slurmpod.cli.yaml_text import yaml_text
from slurmpod.problems import ExitCode

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--json", action="store_true", help="print JSON instead of YAML")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the environment (what its files and the defaults say) and what is resolved from it."""
    sound = sound_environment(options.file)
    environment, source = sound.environment.model_dump(mode="json"), sound.source
    resolved = plain(sound.resolved)
    data = {"environment": environment, "resolved": resolved}
    if options.json:
        print_json({**data, "origins": origins(environment, source)})
        return ExitCode.OK
    sys.stdout.write("environment:\n" + indent(with_origins(environment, source), "  "))
    sys.stdout.write(yaml_text({"resolved": resolved}))
    say_next("rehearse", options.file)
    return ExitCode.OK
