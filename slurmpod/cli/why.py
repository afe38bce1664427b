"""`slurmpod why`: what happened to a node or job, and why; or everything that is wrong."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say
from slurmpod.operations.attempt import plain
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deployed import require_account
from slurmpod.operations.why.everything import Everything, Examination
from slurmpod.operations.why.story import Story
from slurmpod.operations.why.why import JOB, NODE, Witnesses
from slurmpod.problems import ExitCode, counted

HOURS = 24


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "subject",
        metavar="NODE|JOB",
        nargs="?",
        help="a node, by its Slurm name or instance id, or a job's number; default: everything"
        " that is wrong, the worst first",
    )
    parser.add_argument("--hours", type=int, default=HOURS, help=f"how far back (default: {HOURS})")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the history of one node or job with its most probable cause; or all problems."""
    subject = options.subject
    if subject is not None and not (JOB.fullmatch(subject) or NODE.fullmatch(subject)):
        say(f"'{subject}' is neither a node such as ip-10-0-1-7 nor a job number")
        return ExitCode.USAGE
    if options.hours < 1:
        say(f"--hours {options.hours}: at least one hour")
        return ExitCode.USAGE
    resolved = sound_environment(options.file).resolved
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    witnesses = Witnesses(
        ClusterView(clients),
        ClusterLogs(clients),
        NodeSessions(clients),
        resolved,
        str(options.file),
        datetime.now(UTC),
        options.hours,
    )
    found = witnesses.why(subject) if subject else Examination(witnesses).examine()
    if options.json:
        print_json(plain(found))
    elif isinstance(found, Story):
        print_story(found, Console(highlight=False))
    else:
        print_everything(found, Console(highlight=False))
    return ExitCode.OK


def print_everything(found: Everything, console: Console) -> None:
    """Print problems, the worst first, each with its next step on a separate line."""
    nodes = counted(found.nodes, "node")
    console.print(Text.assemble((found.name, "bold"), f": {nodes}, {found.asked} of them asked"))
    for number, each in enumerate(found.troubles, 1):
        console.print(
            Text.assemble((f"{number}. {each.what}: ", "bold"), each.says), soft_wrap=True
        )
        console.print(Text.assemble(("   next: ", "dim"), each.fix), soft_wrap=True)
    if not found.troubles:
        console.print(Text("no problems found", "green"))
    for who, why in found.unread.items():
        console.print(Text.assemble((f"not asked: {who}: ", "yellow"), why))


def print_story(story: Story, console: Console) -> None:
    """Print the history, then the cause: the line that people look for is the last one."""
    console.print(Text(story.subject, "bold"))
    for who, state in story.now.items():
        console.print(Text.assemble((f"{who}: ", "dim"), state or "no answer"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for moment in story.moments:
        words = Text(moment.text)
        if moment.says:
            words = Text.assemble((moment.says, "bold"), (f"  [{moment.text}]", "dim"))
        table.add_row(f"{moment.time.astimezone(UTC):%m-%d %H:%M:%S}", moment.source, words)
    console.print(table if story.moments else Text("no events in this period"))
    for who, why in story.unread.items():
        console.print(Text.assemble((f"not asked: {who}: ", "yellow"), why))
    for cause in story.also:
        console.print(Text.assemble(("also: ", "bold"), cause.says), soft_wrap=True)
    if story.began:
        console.print(Text.assemble(("it began with: ", "bold"), story.began), soft_wrap=True)
    console.print(Text.assemble(("most probably: ", "bold"), story.cause.says), soft_wrap=True)
    if story.cause.fix:  # one line, so that a command in it can be copied
        console.print(Text.assemble(("next: ", "bold"), story.cause.fix), soft_wrap=True)
