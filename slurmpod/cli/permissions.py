"""`slurmpod permissions`: the permissions that nodes need, and whether they have them."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say
from slurmpod.environment.cluster import Role
from slurmpod.operations.identity_check import check_identity
from slurmpod.permissions import document, expected_scope, grants, node_roles
from slurmpod.permissions.identity import Checked
from slurmpod.permissions.sufficiency import Lack
from slurmpod.problem_text import BOLD, RED, paint
from slurmpod.problems import ExitCode
from slurmpod.resolve import Resolved

UNKNOWN = (
    "ids that are unknown before a deployment, such as those of new subnets, are wildcards (*); "
    "narrow them down afterwards"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--role", choices=[*Role], help="nodes of this role only")
    parser.add_argument("--json", action="store_true", help="print the facts as JSON")
    parser.add_argument(
        "--check", action="store_true", help="check the account's roles and boundary"
    )


def run(options: argparse.Namespace) -> ExitCode:
    """Print policy documents, or check the account's roles and boundary against them."""
    resolved = sound_environment(options.file).resolved
    wanted = frozenset({Role(options.role)}) if options.role else frozenset(Role)
    if options.role and not resolved.groups_with(Role(options.role)):
        say(f"{resolved.name} has no {options.role} group")
        return ExitCode.USAGE
    if options.check:
        return _check(resolved, wanted, options)
    if options.role:
        print_json(_policy(resolved, wanted))
    elif options.json:
        print_json([_needed(resolved, nodes) for nodes in node_roles(resolved).values()])
    else:
        _print_policies(resolved)
    if "*" in expected_scope(resolved, wanted).subnet_ids:
        say(UNKNOWN)
    if resolved.identity.existing or resolved.identity.permissions_boundary:
        say(f"next: slurmpod permissions {shlex.quote(str(options.file))} --check")
    return ExitCode.OK


def _print_policies(resolved: Resolved) -> None:
    """Print a document for each role; a single one is valid JSON."""
    roles = node_roles(resolved).values()
    for nodes in roles:
        if len(roles) > 1:
            sys.stdout.write(paint(f"# for {_in_words(resolved, nodes)}\n", BOLD, sys.stdout))
        print_json(_policy(resolved, nodes))


def _policy(resolved: Resolved, nodes: Collection[Role]) -> dict[str, Any]:
    return document(grants(expected_scope(resolved, nodes)))


def _needed(resolved: Resolved, nodes: Collection[Role]) -> dict[str, Any]:
    return {"nodes": _sorted(resolved, nodes), "policy": _policy(resolved, nodes)}


def _check(resolved: Resolved, wanted: Collection[Role], options: argparse.Namespace) -> ExitCode:
    found = check_identity(AwsAccount(clients_of(resolved.region)), resolved)
    found = tuple(checked for checked in found if checked.nodes & frozenset(wanted))
    if options.json:
        print_json([_data(resolved, checked) for checked in found])
    else:
        _print_checked(resolved, found)
    if all(checked.suffices for checked in found):
        return ExitCode.OK
    say(f"next: slurmpod permissions {shlex.quote(str(options.file))}")
    return ExitCode.FAILED


def _print_checked(resolved: Resolved, found: Sequence[Checked]) -> None:
    if not found:
        sys.stdout.write(
            f"{resolved.name}: slurmpod creates the roles of these nodes, without a permissions "
            "boundary: there is nothing to check\n"
        )
    for checked in found:
        whose = f"{checked.arn} (for {_in_words(resolved, checked.nodes)})"
        if checked.suffices:
            sys.stdout.write(f"{whose}: suffices\n")
            continue
        sys.stdout.write(f"{whose}: {paint('does not suffice', RED, sys.stdout)}\n")
        for fault in checked.faults:
            sys.stdout.write(f"  {fault}\n")
        for lack in checked.lacks:
            sys.stdout.write(_lack_text(lack))


def _lack_text(lack: Lack) -> str:
    permission = lack.grant.permission
    resources = "".join(f"    on {resource}\n" for resource in lack.resources)
    return (
        f"  {lack.action}\n{resources}"
        f"    needed by {permission.needed_by}: {permission.why}\n"
        f"    {lack.because}\n"
    )


def _data(resolved: Resolved, checked: Checked) -> dict[str, Any]:
    return {
        "arn": checked.arn,
        "nodes": _sorted(resolved, checked.nodes),
        "suffices": checked.suffices,
        "faults": list(checked.faults),
        "lacks": [
            {
                "action": lack.action,
                "resources": list(lack.resources),
                "needed_by": lack.grant.permission.needed_by,
                "why": lack.grant.permission.why,
                "because": lack.because,
                "statement": lack.grant.statement(),
            }
            for lack in checked.lacks
        ],
    }


def _sorted(resolved: Resolved, nodes: Collection[Role]) -> list[str]:
    """Return the roles among `nodes` for which the environment has groups."""
    return [role.value for role in Role if role in nodes and resolved.groups_with(role)]


def _in_words(resolved: Resolved, nodes: Collection[Role]) -> str:
    return f"{', '.join(_sorted(resolved, nodes))} nodes"
