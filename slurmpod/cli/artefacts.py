"""`slurmpod artefacts`: packages for nodes, and their copies in the environment's bucket."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.bucket import Bucket
from slurmpod.aws.clients import clients_of
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.operations.artefacts import Mirrored, mirror, mirrored, title
from slurmpod.operations.deployed import require_account
from slurmpod.problems import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary in (
        ("list", "list the packages, and whether the bucket has them"),
        ("mirror", "copy missing packages from their publishers"),
    ):
        action = actions.add_parser(name, help=summary)
        action.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
        action.add_argument("--json", action="store_true", help="print the list as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """List the packages; copy the missing ones if the user asks for it."""
    resolved = sound_environment(options.file).resolved
    if not resolved.environment.lifecycle.artefacts:
        say(f"{resolved.name} names no packages (lifecycle.artefacts)")
        _show([], as_json=options.json)
        return ExitCode.OK
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    bucket = Bucket(clients, resolved.lifecycle.bucket)
    found = mirrored(bucket, resolved)
    if options.action == "mirror":
        with if_interrupted("the packages above are copied; the same command copies the rest"):
            mirror(bucket, [each for each in found if not each.is_there], say)
        found = mirrored(bucket, resolved)
    _show(found, as_json=options.json)
    say_next("deploy" if all(each.is_there for each in found) else "artefacts mirror", options.file)
    return ExitCode.OK


def _show(found: Sequence[Mirrored], *, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {**each.artefact.model_dump(), "key": each.key, "mirrored": each.is_there}
                for each in found
            ]
        )
        return
    for each in found:
        state = "in the bucket" if each.is_there else "not in the bucket"
        sys.stdout.write(f"{title(each.artefact):<24} {state:<18} {each.artefact.url}\n")
