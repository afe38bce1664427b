"""`slurmpod connect`: a session on a node, or the command that opens it."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from slurmpod.aws import session_plugin
from slurmpod.aws.clients import clients_of
from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.session_manager import SessionManager, SessionRequest
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.operations.connect import aws_command, session_request, usual_group
from slurmpod.problems import ExitCode
from slurmpod.resolve import Resolved

NO_SESSION = (
    "if no session opens on any node, HyperPod may name nodes differently for the sessions' key: "
    "an administrator gets in without --document-name (--print shows the command); "
    "see docs/sessions.md"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "group", nargs="?", help="instance group (default: the login nodes or controllers)"
    )
    parser.add_argument("number", nargs="?", type=int, default=1, help="which node (default: 1)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--print", action="store_true", help="print the equivalent AWS CLI command")
    how.add_argument("--json", action="store_true", help="the same, as JSON: a list of words")


def run(options: argparse.Namespace) -> ExitCode:
    """Open a session and wait for its end, or print the command."""
    resolved = sound_environment(options.file).resolved
    group = options.group or usual_group(resolved)
    if not has_group(resolved, group):
        return ExitCode.USAGE
    clients = clients_of(resolved.region)
    nodes = ClusterView(clients)
    request = session_request(nodes, resolved, group, options.number)
    command = aws_command(resolved.region, request)
    if options.json:
        print_json({"group": group, "number": options.number, "command": command})
        return ExitCode.OK
    if options.print:
        sys.stdout.write(f"{shlex.join(command)}\n")
        return ExitCode.OK
    code = _open(SessionManager(clients), request)
    if code is ExitCode.FAILED and resolved.environment.access.sessions:
        say(NO_SESSION)
    return code


def has_group(resolved: Resolved, name: str) -> bool:
    """Return whether an environment has a group with this name; print the known ones if not."""
    known = [each.name for each in resolved.groups]
    if name not in known:
        guess = did_you_mean(name, known) or f"it has {', '.join(known)}"
        say(f"{resolved.name} has no group '{name}'; {guess}")
    return name in known


def has_plugin() -> bool:
    """Return whether this computer can open sessions; print what is missing if not."""
    found = shutil.which(session_plugin.NAME) is not None
    if not found:
        say(session_plugin.IS_MISSING)
    return found


def _open(manager: SessionManager, request: SessionRequest) -> ExitCode:
    with manager.open(request) as session:
        return ExitCode.FAILED if session.wait() else ExitCode.OK
