"""`slurmpod status`: cluster, nodes, jobs, storage, alarms and costs on one screen."""

from __future__ import annotations

import argparse
import shlex
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import sleep

from rich.console import Console

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.prometheus import PrometheusQueries
from slurmpod.aws.watch import Watch
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.status_text import print_status
from slurmpod.operations.attempt import Unavailable, plain
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deployed import require_account
from slurmpod.operations.slurm_overview import Overview
from slurmpod.operations.status import Sources, Status, status_of
from slurmpod.problems import ExitCode
from slurmpod.resolve import Resolved
from slurmpod.slurm.hostlist import expanded

SECONDS = 15.0
LEAST_SECONDS = 5.0
"""Each look makes a dozen AWS requests, and all users of the account share its rate limits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--watch",
        nargs="?",
        type=float,
        const=SECONDS,
        metavar="SECONDS",
        help=f"refresh every N seconds (default: {SECONDS:g})",
    )
    how.add_argument("--json", action="store_true", help="print everything as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Show the state once, or until Ctrl-C."""
    if options.watch is not None and options.watch < LEAST_SECONDS:
        say(f"--watch must be at least {LEAST_SECONDS:g} seconds")
        return ExitCode.USAGE
    resolved = sound_environment(options.file).resolved
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    metrics = partial(PrometheusQueries, clients)
    sources = Sources(clients, Watch(clients), NodeSessions(clients), metrics)
    if options.watch:
        _watch(sources, resolved, options.watch)
    status = status_of(sources, resolved, datetime.now(UTC))
    if options.json:
        print_json(plain(status))
        return ExitCode.OK
    print_status(status, Console(highlight=False))
    _say_next(status, options.file)
    return ExitCode.OK


def _watch(sources: Sources, resolved: Resolved, seconds: float) -> None:
    console = Console(highlight=False)
    while True:
        status = status_of(sources, resolved, datetime.now(UTC))
        console.clear()
        print_status(status, console)
        sleep(seconds)


def _say_next(status: Status, file: Path) -> None:
    """Suggest the command for slurmctld, or for the first node that needs attention.

    If all is well, suggest the one for costs.
    """
    name = shlex.quote(str(file))
    if isinstance(status.slurm, Overview) and status.slurm.failure:
        say(f"next: slurmpod logs {name} --kind slurm --kind system")
        return
    rows = () if isinstance(status.nodes, Unavailable) else status.nodes
    if row := next((row for row in rows if not row.is_well), None):
        say(f"next: slurmpod why {name} {expanded(row.names)[0]}")
        return
    say_next("cost", file)
