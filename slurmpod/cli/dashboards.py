"""`slurmpod dashboards`: an environment's dashboards, as files or in Grafana."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.metrics.grafana import dashboard_json
from slurmpod.metrics.panel import Dashboard
from slurmpod.metrics.prometheus import rules_yaml
from slurmpod.problems import ExitCode
from slurmpod.resolve import Resolved
from slurmpod.whole_file import write_whole

RULES_FILE = "rules.yml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write dashboards and Prometheus rules into FOLDER",
    )
    parser.add_argument(
        "--pictures",
        action="store_true",
        help="with --output: also pictures (SVG) of the last hour, from Prometheus",
    )
    parser.add_argument("--push", action="store_true", help="push them to Grafana")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """List the dashboards; write or push them if the user asks for it."""
    resolved = sound_environment(options.file).resolved
    if options.pictures and not options.output:
        say("--pictures needs --output FOLDER")
        return ExitCode.USAGE
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        for name, text in _files(resolved).items():
            write_whole(options.output / name, text)
    if options.pictures:
        code = _draw(resolved, options.output)
        if code is not ExitCode.OK:
            return code
    if options.push:
        code = _push(resolved)
        if code is not ExitCode.OK:
            return code
    if options.json:
        print_json([_as_data(dashboard) for dashboard in DASHBOARDS])
        return ExitCode.OK
    _print_list()
    if not (options.push or options.output):
        say_next(_brings_them_to_people(resolved), options.file)
    return ExitCode.OK


def _print_list() -> None:
    for dashboard in DASHBOARDS:
        panels = f"{len(dashboard.panels)} panels"
        sys.stdout.write(f"{dashboard.uid:<24} {panels:<10} {dashboard.description}\n")


def _brings_them_to_people(resolved: Resolved) -> str:
    has_grafana = resolved.monitoring and resolved.monitoring.grafana
    return "dashboards --push" if has_grafana else "dashboards --output dashboards"


def _files(resolved: Resolved) -> Mapping[str, str]:
    """Return the files by name."""
    pages = {f"{each.uid}.json": dashboard_json(each, resolved.name) for each in DASHBOARDS}
    return {**pages, RULES_FILE: rules_yaml()}


def _draw(resolved: Resolved, folder: Path) -> ExitCode:
    """Write pictures of all dashboards into a folder."""
    if not (resolved.monitoring and resolved.monitoring.prometheus):
        say(f"{resolved.name} has no metrics; write 'monitoring.prometheus: {{}}' first")
        return ExitCode.USAGE
    from slurmpod.aws.account import AwsAccount  # importing the SDK is slow
    from slurmpod.aws.clients import clients_of
    from slurmpod.aws.prometheus import PrometheusQueries
    from slurmpod.operations.deployed import LiveEnvironment, require_account
    from slurmpod.operations.grafana import prometheus_url_of
    from slurmpod.operations.panel_pictures import pictures

    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    queries = PrometheusQueries(clients, prometheus_url_of(LiveEnvironment(clients, resolved)))
    scrape_seconds = resolved.monitoring.prometheus.scrape_seconds
    drawn = pictures(DASHBOARDS, queries, now=time.time(), scrape_seconds=scrape_seconds)
    for uid, picture in drawn:
        write_whole(folder / f"{uid}.svg", picture)
    say(f"{len(DASHBOARDS)} pictures of the last hour are in {folder}")
    return ExitCode.OK


def _push(resolved: Resolved) -> ExitCode:
    if not (resolved.monitoring and resolved.monitoring.grafana):
        say(f"{resolved.name} has no Grafana workspace; write 'monitoring.grafana: {{}}' first")
        return ExitCode.USAGE
    from slurmpod.aws.account import AwsAccount  # importing the SDK is slow
    from slurmpod.aws.clients import clients_of
    from slurmpod.aws.grafana import GrafanaAccess
    from slurmpod.operations.deployed import LiveEnvironment, require_account
    from slurmpod.operations.grafana import addresses_of, push

    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    addresses = addresses_of(LiveEnvironment(clients, resolved))
    with if_interrupted("some dashboards may be outdated; run the same command again to push all"):
        push(GrafanaAccess(clients), addresses, resolved)
    say(f"{len(DASHBOARDS)} dashboards are at {addresses.grafana_url}")
    return ExitCode.OK


def _as_data(dashboard: Dashboard) -> dict[str, object]:
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "panels": [panel.title for panel in dashboard.panels],
    }
