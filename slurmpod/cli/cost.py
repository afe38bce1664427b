"""`slurmpod cost`: node-hours by user or account, their cost, and idle nodes."""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.cluster import ClusterView
from slurmpod.cli.cost_goodput import goodput_data, goodput_lines
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.times import HOW_TO_SAY, parse_time
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.cost import (
    USED,
    Bill,
    Use,
    prices_of_nodes,
    prices_of_partitions,
    read_uses,
    summed,
    use_command,
    worker_hours,
)
from slurmpod.operations.deployed import require_account
from slurmpod.operations.goodput import ENDED, SECONDS_OF_AN_HOUR, read_goodput
from slurmpod.operations.idle import IDLE, IdleGroup, idle_groups, read_idle
from slurmpod.operations.questions import ask_controller
from slurmpod.plan.prices import bundled_prices
from slurmpod.problems import ExitCode, counted
from slurmpod.resolve import Resolved

BY = ("account", "user", "partition")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--by", choices=BY, default="account", help="(default: account)")
    parser.add_argument("--since", default="30d", help="30m, 2h, 3d or a timestamp (default: 30d)")
    parser.add_argument("--until", default="0m", help="end of the period (default: now)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--csv", action="store_true", help="print CSV, a line for each account, user and partition"
    )
    how.add_argument("--json", action="store_true", help="print the same as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the bill."""
    now = datetime.now(UTC)
    since, until = parse_time(options.since, now), parse_time(options.until, now)
    if since is None or until is None or since >= until:
        say(f"--since {options.since} --until {options.until}: {HOW_TO_SAY}, the earlier one first")
        return ExitCode.USAGE
    bill = _bill(sound_environment(options.file).resolved, since, until)
    if options.csv:
        _print_csv(bill)
    elif options.json:
        print_json(_data(bill))
    else:
        _print(bill, options.by)
        _say_next(bill, options.file)
    return ExitCode.OK


def _bill(resolved: Resolved, since: datetime, until: datetime) -> Bill:
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    view = ClusterView(clients)
    cluster, nodes = view.cluster(resolved.name), view.nodes(resolved.name)
    command = use_command(since, until)
    sessions = NodeSessions(clients)
    try:
        answers = ask_controller(sessions, resolved, cluster.id, nodes, command)
    except BaseException:
        sessions.end()
        raise
    prices = bundled_prices(resolved.region)
    uses = read_uses(answers[USED], prices_of_partitions(resolved, prices))
    idle = idle_groups(read_idle(answers[IDLE]), nodes, prices_of_nodes(resolved, prices))
    goodput = read_goodput(answers[ENDED])
    return Bill(since, until, uses, worker_hours(nodes, resolved, since, until), idle, goodput)


def _print(bill: Bill, by: str) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(by)
    for title in ("jobs", "node-hours", "USD"):
        table.add_column(title, justify="right")
    for use in summed(bill.uses, by):
        name = Text(getattr(use, by) or "none")  # in a plain string rich reads markup
        table.add_row(name, str(use.jobs), f"{use.node_hours:,.2f}", _usd(use))
    console = Console(highlight=False)
    console.print(f"{bill.since:%Y-%m-%d %H:%M} to {bill.until:%Y-%m-%d %H:%M} UTC")
    console.print(table if bill.uses else "no job ran")
    share = bill.idle_share
    idle = "unknown: no workers" if share is None else f"{share:.0%}"
    console.print(f"idle: {idle} of {bill.worker_hours:,.1f} hours of the current workers")
    for line in goodput_lines(bill.goodput):
        console.print(line)
    for group in bill.idle:
        console.print(_idle_now(group, bill.until))
    console.print(
        "USD covers nodes only, at list prices of a given date; for the rest see slurmpod plan"
    )


def _idle_now(group: IdleGroup, now: datetime) -> str:
    nodes = f"{len(group.nodes)} of {counted(group.count, 'node')} of {group.group}"
    hours = (now - group.since).total_seconds() / SECONDS_OF_AN_HOUR if group.since else 0.0
    usd = "unknown" if group.usd_per_hour is None else f"{group.usd_per_hour:,.2f}"
    return f"no job now: {nodes}, for up to {max(hours, 0):,.1f} h, USD an hour: {usd}"


def _say_next(bill: Bill, file: Path) -> None:
    """Suggest the command that removes the most expensive idle nodes, if there are any."""
    most = max(bill.idle, key=lambda group: group.usd_per_hour or Decimal(0), default=None)
    if most:
        say(f"next: slurmpod scale {shlex.quote(str(file))} {most.group} {most.rest}")
    else:
        say_next("status", file)


def _usd(use: Use) -> str:
    return "unknown" if use.usd is None else f"{use.usd:,.2f}"


def _print_csv(bill: Bill) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*BY, "jobs", "node_hours", "usd"])
    for use in bill.uses:
        usd = "" if use.usd is None else f"{use.usd:.4f}"
        writer.writerow(
            [use.account, use.user, use.partition, use.jobs, f"{use.node_hours:.4f}", usd]
        )


def _data(bill: Bill) -> dict[str, object]:
    return {
        "since": bill.since.isoformat(),
        "until": bill.until.isoformat(),
        "uses": [{**asdict(use), "usd": _plain(use.usd)} for use in bill.uses],
        "worker_hours": bill.worker_hours,
        "idle_share": bill.idle_share,
        "goodput": goodput_data(bill.goodput),
        "idle": [
            {
                "group": group.group,
                "nodes": group.nodes,
                "since": group.since.isoformat() if group.since else None,
                "usd_per_hour": _plain(group.usd_per_hour),
            }
            for group in bill.idle
        ],
    }


def _plain(usd: Decimal | None) -> str | None:
    return None if usd is None else f"{usd:.4f}"
