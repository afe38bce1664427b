"""`slurmpod adopt`: reuse retained resources of an earlier deployment instead of new ones."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.imports import Imports
from slurmpod.aws.inventory import AccountInventory
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.operations.adopt import Adoption, ExistingLines, adopt, plan_adoption
from slurmpod.operations.deployed import require_account
from slurmpod.operations.retained import Leftover
from slurmpod.problems import ExitCode, counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "--from",
        dest="former",
        metavar="NAME",
        help="the environment's former name (default: its current one)",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--json", action="store_true", help="print the retained resources as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Show the retained resources, import what CloudFormation can, and print the lines to add."""
    environment = sound_environment(options.file).environment
    former = options.former or environment.name
    clients = clients_of(environment.region)
    require_account(AwsAccount(clients), environment)
    inventory = AccountInventory(clients)
    adoption = plan_adoption(inventory, former, environment)
    _show(adoption, former, options)
    if adoption.is_work:
        if not is_confirmed(environment, options, "adopt these"):
            say("nothing was changed")
            return ExitCode.FAILED
        with if_interrupted("CloudFormation continues; run the same command again to resume"):
            adoption = adopt(inventory, Imports(clients), former, environment)
        resources = counted(len(adoption.resources), "resource")
        say(f"{environment.name} has adopted {resources}")
    return _say_what_comes_next(adoption, options.file)


def _show(adoption: Adoption, former: str, options: argparse.Namespace) -> None:
    if options.json:
        print_json(adoption_data(adoption))
    else:
        sys.stdout.write(adoption_text(adoption, former, str(options.file)))
        sys.stdout.flush()


def _say_what_comes_next(adoption: Adoption, file: Path) -> ExitCode:
    path = shlex.quote(str(file))
    if adoption.lines:
        say(f"still to do: add the lines above to {file}, or the next deployment creates")
        say("new, empty file systems; then: slurmpod adopt " + path)
        return ExitCode.FAILED
    if not adoption.is_empty:
        say_next("deploy", file)
    return ExitCode.OK


def adoption_text(adoption: Adoption, former: str, file: str) -> str:
    """Return the plan: imports, lines to add to the file, and resources that stay outside."""
    if adoption.is_empty:
        return f"{former}: no resources are left outside of stacks\n"
    return "\n".join(_lines(adoption, former, file)) + "\n"


def adoption_data(adoption: Adoption) -> dict[str, Any]:
    """Return the plan as plain data."""
    return {
        "imports": [_resource_data(each) for each in adoption.resources],
        "failed_stacks": [{"name": each.name, "status": each.status} for each in adoption.failed],
        "file_systems": [_file_system_data(each) for each in adoption.lines],
        "others": [_resource_data(each) | {"why": each.problem} for each in adoption.others],
    }


def _lines(adoption: Adoption, former: str, file: str) -> Iterator[str]:
    yield f"{former}: left by earlier deployments, in no stack"
    for stack in adoption.failed:
        yield f"the failed stack {stack.name} ({stack.status}) is deleted; resources that it could"
        yield "  not delete stay"
    if adoption.resources:
        yield "adopted by CloudFormation import:"
        yield from (f"  {_resource_text(each)}" for each in adoption.resources)
    if adoption.lines:
        yield f"to add to {file}, because CloudFormation cannot import file systems:"
        for each in adoption.lines:
            yield from _file_system_lines(each)
        yield from _suppress_lines(adoption.lines)
    if adoption.others:
        yield "not adopted:"
        yield from (f"  {_resource_text(each)}: {each.problem}" for each in adoption.others)


def _resource_text(left: Leftover) -> str:
    return f"{left.resource.type} {left.resource.physical_id} of {left.stack.name}"


def _file_system_lines(lines: ExistingLines) -> Iterator[str]:
    held = lines.file_system
    kind = "OpenZFS" if held.type == "OPENZFS" else "Lustre"
    made = held.created.date().isoformat()
    yield f"  {held.file_system_id}, {kind}, {held.capacity_gib} GiB, created on {made}:"
    where = f"replaces {lines.place}" if lines.place else "added to storage.additional_lustre"
    yield f"    {where}:"
    yield _yaml(dict(lines.section) if lines.place else [dict(lines.section)])
    if lines.warning:
        yield f"    {lines.warning}"


def _suppress_lines(lines: Sequence[ExistingLines]) -> Iterator[str]:
    known = [each.suppress for each in lines if each.suppress]
    if known:
        yield "    and, to accept a warning about it:"
        yield _yaml({"suppress": [dict(known[0])]})


def _yaml(data: Any) -> str:
    return indent(yaml.safe_dump(data, sort_keys=False), "      ").rstrip()


def _resource_data(left: Leftover) -> dict[str, Any]:
    return {
        "stack": left.stack.name,
        "logical_id": left.resource.logical_id,
        "type": left.resource.type,
        "physical_id": left.resource.physical_id,
    }


def _file_system_data(lines: ExistingLines) -> dict[str, Any]:
    held = lines.file_system
    return {
        "id": held.file_system_id,
        "type": held.type,
        "capacity_gib": held.capacity_gib,
        "created": held.created.isoformat(),
        "place": lines.place or None,
        "section": dict(lines.section),
        "suppress": dict(lines.suppress) if lines.suppress else None,
        "warning": lines.warning or None,
    }
