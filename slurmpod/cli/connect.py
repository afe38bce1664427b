"""`slurmpod connect`: a session on a node, or the command that opens it."""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slurmpod.aws.clients import clients_of
from slurmpod.aws.deployment import SessionNodes
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import say
from slurmpod.operations.connect import session_command, usual_group
from slurmpod.problems import ExitCode
from slurmpod.resolve import Resolved

PLUGIN = "session-manager-plugin"
INSTALLATION = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/"
    "session-manager-working-with-install-plugin.html"
)
NO_SESSION = (
    "where no session begins on any node, HyperPod names its nodes otherwise to the sessions' key: "
    "without --document-name an administrator gets in (--print shows the command); "
    "see docs/sessions.md"
)
KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
"""What a terminal sends for Ctrl-C, Ctrl-\\ and Ctrl-Z."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("group", nargs="?", help="instance group (default: where users work)")
    parser.add_argument("number", nargs="?", type=int, default=1, help="which node (default: 1)")
    parser.add_argument("--print", action="store_true", help="print the command, do not run it")


def run(options: argparse.Namespace) -> ExitCode:
    """Open a session and wait for its end, or print the command."""
    resolved = sound_environment(options.file).resolved
    group = options.group or usual_group(resolved)
    if not has_group(resolved, group):
        return ExitCode.USAGE
    nodes = SessionNodes(clients_of(resolved.region))
    command = session_command(nodes, resolved, group, options.number)
    if options.print:
        sys.stdout.write(f"{shlex.join(command)}\n")
        return ExitCode.OK
    code = _open(command)
    if code is ExitCode.FAILED and resolved.environment.access.sessions:
        say(NO_SESSION)
    return code


def has_group(resolved: Resolved, name: str) -> bool:
    """Tell whether an environment has a group of this name; say which ones it has if not."""
    known = [each.name for each in resolved.groups]
    if name not in known:
        say(f"{resolved.name} has no group '{name}'; it has {', '.join(known)}")
    return name in known


def has_plugin() -> bool:
    """Tell whether the AWS CLI can open sessions on this computer; say what it lacks if not."""
    found = shutil.which(PLUGIN) is not None
    if not found:
        say(f"the AWS CLI needs the Session Manager plugin to open sessions: {INSTALLATION}")
    return found


def _open(command: list[str]) -> ExitCode:
    if not has_plugin():
        return ExitCode.FAILED
    with _keys_for_the_node():
        ended = subprocess.run(command, check=False)
    return ExitCode.FAILED if ended.returncode else ExitCode.OK


@contextmanager
def _keys_for_the_node() -> Iterator[None]:
    """Leave Ctrl-C and its like to what runs on the node: here they would end the session."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in KEYS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
