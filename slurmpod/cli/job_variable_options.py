"""The options that give variables and secrets to a job."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_variable_options(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a variable of the job; may be repeated",
    )
    parser.add_argument(
        "--env-file", type=Path, metavar="FILE", help="set variables from lines of NAME=VALUE"
    )
    parser.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="NAME=ARN",
        help="set a variable from Secrets Manager when the job starts; may be repeated",
    )
