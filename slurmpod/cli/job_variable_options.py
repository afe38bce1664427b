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
        help="set a variable of the job (again for more)",
    )
    parser.add_argument(
        "--env-file", type=Path, metavar="FILE", help="set variables, a NAME=VALUE in each line"
    )
    parser.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="NAME=ARN",
        help="set one that the job takes from Secrets Manager when it starts (again for more)",
    )
