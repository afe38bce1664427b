"""`slurmpod lifecycle`: how the scripts went on the nodes of a cluster, and running them again."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from slurmpod.aws.clients import clients_of
from slurmpod.aws.deployment import ClusterLogs, SessionNodes
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli import lifecycle_run
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.lifecycle_text import print_reports
from slurmpod.cli.output import print_json, say
from slurmpod.operations.lifecycle import lifecycle_reports
from slurmpod.problems import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    reports = actions.add_parser("report", help="show how the scripts went on every node")
    reports.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    reports.add_argument("--json", action="store_true", help="print the reports as JSON")
    reports.set_defaults(act=_report)
    runs = actions.add_parser("run", help="run the deployed scripts again on live nodes")
    lifecycle_run.add_arguments(runs)
    runs.set_defaults(act=lifecycle_run.run)


def run(options: argparse.Namespace) -> ExitCode:
    """Do what the chosen action does."""
    try:
        code: ExitCode = options.act(options)
    except AwsUnavailable as error:
        say(str(error))
        return ExitCode.FAILED
    return code


def _report(options: argparse.Namespace) -> ExitCode:
    """Show the last report of every node; what failed is for the reader to judge."""
    resolved = sound_environment(options.file).resolved
    clients = clients_of(resolved.region)
    reports = lifecycle_reports(SessionNodes(clients), ClusterLogs(clients), resolved.name)
    if options.json:
        print_json([dataclasses.asdict(report) for report in reports])
    else:
        print_reports(reports, {group.name: group.role for group in resolved.groups})
    return ExitCode.OK
