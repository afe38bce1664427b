"""`slurmpod rehearsal`: inspect kept rehearsals, and take them down."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from embedded_aws.isolation import isolated_environment, process_environment, shell_lines
from slurmpod.aws.cluster import ClusterView
from slurmpod.cli.output import if_interrupted, print_json, say
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import ExitCode, WorkFailed
from slurmpod.rehearsal.embedded_clients import embedded_clients
from slurmpod.rehearsal.nodes.enter import enter_command
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import network_of
from slurmpod.rehearsal.processes import (
    Rehearsal,
    UnknownRehearsal,
    clear_dead,
    end,
    running,
    uncleared,
)
from slurmpod.rehearsal.prometheus_addresses import addresses
from slurmpod.rehearsal.session_plugin import variables as plugin_variables
from slurmpod.rehearsal.state import CHOSEN

AT_HOME = ("sh", "-c", 'cd 2>/dev/null || cd /; exec "$@"', "sh")
"""Runs a command in a writable folder: jobs write their output to the folder of sbatch."""


class NotThere(WorkFailed):
    """The requested rehearsal or node does not exist, or is ambiguous."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list running rehearsals")
    listing.add_argument("--json", action="store_true", help="print them as JSON")
    variables = actions.add_parser("env", help='print variables for AWS tools: eval "$(... env)"')
    shell = actions.add_parser("shell", help="open a shell on a node, or run -- COMMAND")
    shell.add_argument(
        "node",
        help="host name, instance id, or group (its first node); for another cluster: CLUSTER/NODE",
    )
    shell.add_argument("--user", default="ubuntu", help="default: ubuntu")
    fault = actions.add_parser("fault", help="inject a fault into it and its running jobs")
    fault.add_argument("fault", metavar="NAME", help="e.g. worker-power-cut (docs/faults.md)")
    fault.add_argument(
        "--undisturbed",
        metavar="LOG",
        help="log of the same job without the fault, as a path on the nodes: to compare losses",
    )
    fault.add_argument("--json", action="store_true", help="print the result as JSON")
    down = actions.add_parser("down", help="take a rehearsal down, and clean up after dead ones")
    variables.add_argument("--json", action="store_true", help="print the variables as JSON")
    down.add_argument("--json", action="store_true", help="print what was removed as JSON")
    for action in (variables, shell, fault, down):
        action.add_argument(
            "--id", help="which rehearsal (default: the one of `env`, or the only one)"
        )


def run(options: argparse.Namespace) -> ExitCode:
    """Run the chosen action."""
    if options.action == "list":
        return _list(as_json=options.json)
    if options.action == "down":
        return _down(options.id, as_json=options.json)
    if options.action == "fault":
        from slurmpod.cli import kept_fault  # its imports are slow

        return kept_fault.run(readable_rehearsal(options.id), options)
    return _look_around(readable_rehearsal(options.id), options)


def _down(identifier: str | None, *, as_json: bool) -> ExitCode:
    gone = list(clear_dead())
    for name in gone:
        say(f"cleaned up after the dead rehearsal {name}")
    stuck = uncleared()
    for problem in stuck:
        say(problem)
    if running():
        rehearsal = _chosen(identifier)
        with if_interrupted("the same command takes down the rest"):
            end(rehearsal.folder)
        say(f"{rehearsal.identifier} is gone")
        gone.append(rehearsal.identifier)
    if as_json:
        print_json({"gone": gone, "left": list(stuck)})
    return ExitCode.FAILED if stuck else ExitCode.OK


def _look_around(rehearsal: Rehearsal, options: argparse.Namespace) -> ExitCode:
    if options.action == "shell":
        _become(_shell_command(rehearsal, options.node, options.after_dashes, options.user))
    sessions = {} if rehearsal.request.cloud_only else plugin_variables(rehearsal.folder)
    chosen = {CHOSEN: rehearsal.identifier}
    leads = {**rehearsal.variables, **sessions, **chosen}
    if options.json:
        print_json(leads)
        return ExitCode.OK
    for line in shell_lines(os.environ, leads):
        sys.stdout.write(f"{line}\n")
    return ExitCode.OK


def _list(*, as_json: bool) -> ExitCode:
    rehearsals = running()
    if as_json:
        print_json([_as_data(rehearsal) for rehearsal in rehearsals])
        return ExitCode.OK
    for rehearsal in rehearsals:
        sys.stdout.write(f"{rehearsal.identifier}  {_as_text(rehearsal)}\n")
    if not rehearsals:
        say("no rehearsal runs")
    return ExitCode.OK


def _as_text(rehearsal: Rehearsal | UnknownRehearsal) -> str:
    if isinstance(rehearsal, UnknownRehearsal):
        return f"damaged, take it down: {rehearsal.problem}"
    shown = "".join(f"\n  Prometheus: {each}" for each in addresses(rehearsal.folder))
    return f"{rehearsal.state.endpoint}  {rehearsal.request.environment_file}{shown}"


def _as_data(rehearsal: Rehearsal | UnknownRehearsal) -> dict[str, object]:
    if isinstance(rehearsal, UnknownRehearsal):
        return {"id": rehearsal.identifier, "problem": rehearsal.problem}
    return {
        "id": rehearsal.identifier,
        "endpoint": rehearsal.state.endpoint,
        "environment_file": rehearsal.request.environment_file,
        "cloud_only": rehearsal.request.cloud_only,
        "kept": rehearsal.state.kept,
        "prometheus": list(addresses(rehearsal.folder)),
    }


def readable_rehearsal(identifier: str | None) -> Rehearsal:
    """Return the rehearsal with this id, or the only one; raises NotThere, or if damaged."""
    rehearsal = _chosen(identifier)
    if isinstance(rehearsal, UnknownRehearsal):
        down = f"slurmpod rehearsal down --id {rehearsal.identifier}"
        raise NotThere(f"{rehearsal.identifier}: {rehearsal.problem}; take it down: {down}")
    return rehearsal


def _chosen(identifier: str | None) -> Rehearsal | UnknownRehearsal:
    rehearsals = running()
    names = ", ".join(rehearsal.identifier for rehearsal in rehearsals)
    for rehearsal in rehearsals:
        if rehearsal.identifier == (identifier or os.environ.get(CHOSEN)):
            return rehearsal
    if identifier:
        raise NotThere(f"no rehearsal '{identifier}' runs; running: {names or 'none'}")
    if len(rehearsals) == 1:
        return rehearsals[0]
    if not rehearsals:
        raise NotThere("no rehearsal runs; start one: slurmpod rehearse FILE --keep")
    raise NotThere(f"several rehearsals run; choose one with --id: {names}")


def _become(argv: list[str]) -> NoReturn:
    sys.stdout.flush()
    os.execvp(argv[0], argv)  # noqa: S606  # no shell, on purpose


def _shell_command(rehearsal: Rehearsal, node: str, command: list[str], user: str) -> list[str]:
    """Return the argv of a login shell, or of `command`, on a node; raises NotThere."""
    named, _, wanted = node.rpartition("/")
    cluster = named or rehearsal.request.name
    hostname = _hostname(rehearsal, cluster, wanted)
    try:
        shell = [*AT_HOME, *(command or ["bash", "--login"])]
        network = network_of(rehearsal.folder, cluster)
        return enter_command(network, hostname, shell, user=user)
    except MachineFailed as failure:
        raise NotThere(str(failure)) from failure


def _hostname(rehearsal: Rehearsal, cluster: str, node: str) -> str:
    """Return the host name of a cluster's node, from a host name, instance id or group."""
    with process_environment(isolated_environment(os.environ, rehearsal.variables)):
        clients = embedded_clients(rehearsal.state.endpoint, rehearsal.request)
        nodes = ClusterView(clients).nodes(cluster)
    for found in nodes:
        if node in (found.name, found.instance_id, found.group):
            return found.name
    known = [name for found in nodes for name in (found.name, found.instance_id, found.group)]
    names = ", ".join(f"{found.name} ({found.group})" for found in nodes)
    raise NotThere(f"unknown node '{node}'; {did_you_mean(node, known) or f'nodes: {names}'}")
