"""`slurmpod logs`: logs of nodes, groups and jobs, followed or exported for support."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import sleep

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.cluster import ClusterState, ClusterView, Node
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.cli.connect import has_group
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.times import HOW_TO_SAY, parse_time
from slurmpod.operations.attempt import plain
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deployed import require_account
from slurmpod.operations.logs.archive import files_of, write_archive
from slurmpod.operations.logs.gather import (
    Gathered,
    Wanted,
    chosen_nodes,
    gather,
    nodes_of_job,
)
from slurmpod.operations.logs.lines import Kind, Line
from slurmpod.operations.why.why import JOB
from slurmpod.problems import ExitCode, counted
from slurmpod.resolve import Resolved

FOLLOW_SECONDS = 10.0
"""Each look opens a session on every selected node."""

HOURS_OF_JOBS = 720


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--node", action="append", default=[], help="a node; may be repeated")
    parser.add_argument("--group", action="append", default=[], help="all nodes of a group")
    parser.add_argument("--job", help="the nodes of a job, by its number")
    parser.add_argument(
        "--kind",
        action="append",
        type=Kind,
        choices=list(Kind),
        help="which logs; may be repeated (default: lifecycle and slurm)",
    )
    parser.add_argument("--since", default="1h", help="30m, 2h, 3d or a time (default: 1h)")
    parser.add_argument("--until", default="0m", help="end of the period (default: now)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--follow", action="store_true", help="follow until Ctrl-C")
    how.add_argument("--export", type=Path, metavar="FILE.tar.gz", help="write an archive")
    how.add_argument("--json", action="store_true", help="print the lines as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the lines, follow new ones, or write them to an archive."""
    now = datetime.now(UTC)
    since, until = parse_time(options.since, now), parse_time(options.until, now)
    if (mistake := _mistake(options, since, until)) or since is None or until is None:
        say(mistake)
        return ExitCode.USAGE
    resolved = sound_environment(options.file).resolved
    if not all(has_group(resolved, group) for group in options.group):
        return ExitCode.USAGE
    reader = _reader(resolved)
    kinds = options.kind or [Kind.LIFECYCLE, Kind.SLURM]
    wanted = Wanted(reader.nodes(options), kinds, since, until)
    if options.follow:
        _follow(reader, wanted)
    gathered = reader.gather(wanted)
    if options.export:
        return _export(options.export, gathered, wanted, resolved)
    if options.json:
        print_json({"lines": plain(gathered.lines), "unread": gathered.unread})
    else:
        _show(gathered)
        say_next("status", options.file)
    return ExitCode.OK


def _mistake(options: argparse.Namespace, since: datetime | None, until: datetime | None) -> str:
    for name, given, found in (("since", options.since, since), ("until", options.until, until)):
        if found is None:
            return f"--{name} {given}: {HOW_TO_SAY}"
    if since and until and since >= until:
        return f"--since {options.since} is not before --until {options.until}"
    if options.job and not JOB.fullmatch(options.job):
        return f"--job {options.job}: write a job number such as 4711 or 4711_3"
    if options.export and options.export.exists():
        return f"--export {options.export}: it already exists; name another file"
    if options.export and not options.export.name.endswith(".tar.gz"):
        return f"--export {options.export}: the name must end with .tar.gz"
    if options.export and not options.export.absolute().parent.is_dir():
        return f"--export {options.export}: the folder {options.export.parent} does not exist"
    return ""


@dataclass(frozen=True)
class _Reader:
    """Reads logs of one cluster."""

    logs: ClusterLogs
    view: ClusterView
    sessions: NodeSessions
    resolved: Resolved
    cluster: ClusterState

    def nodes(self, options: argparse.Namespace) -> list[Node]:
        """Return the selected nodes."""
        found = self.view.nodes(self.resolved.name)
        names = list(options.node)
        if options.job:
            names += nodes_of_job(
                self.sessions, self.resolved, self.cluster, found, options.job, HOURS_OF_JOBS
            )
        return chosen_nodes(found, self.resolved, names, options.group)

    def gather(self, wanted: Wanted) -> Gathered:
        """Read the selected logs."""
        return gather(self.logs, self.sessions, self.resolved, self.cluster, wanted)


def _reader(resolved: Resolved) -> _Reader:
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    view, logs, sessions = ClusterView(clients), ClusterLogs(clients), NodeSessions(clients)
    return _Reader(logs, view, sessions, resolved, view.cluster(resolved.name))


def _show(gathered: Gathered) -> None:
    for line in gathered.lines:
        _print(line)
    for who, why in gathered.unread.items():
        say(f"not read: {who}: {why}")
    if not gathered.lines:
        say("no lines in this period: try an earlier --since or another --kind")


def _print(line: Line) -> None:
    time = f"{line.time.astimezone(UTC):%m-%d %H:%M:%S}"
    sys.stdout.write(f"{time} {line.node} {line.log}: {line.text}\n")


def _follow(reader: _Reader, wanted: Wanted) -> None:
    """Look repeatedly, and print only new lines."""
    seen: set[Line] = set()
    while True:
        gathered = reader.gather(replace(wanted, until=datetime.now(UTC)))
        for line in gathered.lines:
            if line not in seen:
                _print(line)
        sys.stdout.flush()
        seen = set(gathered.lines)
        if gathered.lines:
            wanted = replace(wanted, since=gathered.lines[-1].time.replace(microsecond=0))
        sleep(FOLLOW_SECONDS)


def _export(path: Path, gathered: Gathered, wanted: Wanted, resolved: Resolved) -> ExitCode:
    facts = {
        "environment": resolved.name,
        "region": resolved.region,
        "since": wanted.since.isoformat(),
        "until": wanted.until.isoformat(),
        "kinds": [str(kind) for kind in wanted.kinds],
        "nodes": _about(wanted),
    }
    write_archive(path, files_of(gathered, facts))
    say(f"{path}: {counted(len(gathered.lines), 'line')} of {counted(len(wanted.nodes), 'node')}")
    for who, why in gathered.unread.items():
        say(f"not included: {who}: {why}")
    say("known forms of secrets were redacted; review it before you share it")
    return ExitCode.OK


def _about(wanted: Wanted) -> Sequence[dict[str, str]]:
    return [
        {"name": each.name, "id": each.instance_id, "group": each.group, "status": each.status}
        for each in wanted.nodes
    ]
