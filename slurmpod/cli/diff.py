"""`slurmpod diff`: what a deployment would change, replace or lose, before it is begun."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.inventory import AccountInventory
from slurmpod.changes.change import Change
from slurmpod.changes.compare import changes
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import counted, print_json, say
from slurmpod.environment.base import Kind
from slurmpod.environment.environment import Environment
from slurmpod.operations.deployed import Deployed, deployed_environment
from slurmpod.problem_text import BOLD, RED, YELLOW, paint
from slurmpod.problems import ExitCode
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.resolve import Resolved

COLOURS = {Kind.LOSES: RED, Kind.REPLACES: RED, Kind.REFUSED: RED, Kind.NEW_NODES: YELLOW}
LONGEST_VALUE = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--json", action="store_true", help="print the changes as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Compare the file with what is deployed; a protected environment refuses what would lose."""
    sound = sound_environment(options.file)
    environment = sound.environment
    clients = clients_of(environment.region)
    account, inventory = AwsAccount(clients), AccountInventory(clients)
    deployed = deployed_environment(account, inventory, sound.resolved)
    found = _changes(deployed, sound.resolved)
    if options.json:
        print_json(_facts(deployed, found))
    elif deployed is None:
        sys.stdout.write(f"{environment.name} is not deployed: everything would be new\n")
    elif deployed.record:
        _print_text(found, environment, sound.source)
    verdict = _verdict(found, environment, deployed)
    if verdict is ExitCode.OK and not options.json:
        say(f"next: npx cdk diff -c env={shlex.quote(str(options.file))}")
    return verdict


def _changes(deployed: Deployed | None, wanted: Resolved) -> Sequence[Change]:
    if deployed is None or deployed.record is None:
        return ()
    return changes(deployed.record, wanted, has_cluster=deployed.has_cluster)


def _verdict(
    found: Sequence[Change], environment: Environment, deployed: Deployed | None
) -> ExitCode:
    is_unknown = deployed is not None and deployed.record is None
    if deployed and not deployed.has_cluster:
        say(_without_cluster(deployed, environment))
    harmful = [change for change in found if not change.is_harmless]
    if any(change.effect.kind is Kind.REFUSED for change in harmful):
        say("AWS refuses the changes that are marked 'refused': do not deploy this")
        return ExitCode.FAILED
    if (harmful or is_unknown) and environment.protected:
        say(f"refused: {environment.name} is protected; write 'protected: false' to allow it")
        return ExitCode.FAILED
    return ExitCode.OK


def _without_cluster(deployed: Deployed, environment: Environment) -> str:
    left = ", ".join(deployed.stacks)
    if deployed.record is None:
        return (
            f"{environment.name} has no cluster, and CloudFormation does not remember what was "
            f"deployed. What a deployment changes in {left} is not known here: look for "
            f"replacements in 'npx cdk diff'"
        )
    return (
        f"{environment.name} has no cluster: the file is compared with what was deployed before "
        f"the stack of the cluster was deleted. The stacks that are left: {left}"
    )


def _print_text(found: Sequence[Change], environment: Environment, source: YamlSource) -> None:
    for change in found:
        kind = paint(change.effect.kind, COLOURS.get(change.effect.kind, BOLD), sys.stdout)
        place = source.where(change.new_path)
        sys.stdout.write(
            f"{kind}: {change.path}: {_shown(change.old)} -> {_shown(change.new)}\n"
            f"  {change.effect.meaning}\n"
            f"  {place}\n"
        )
    what = counted(len(found), "change") if found else "no changes"
    sys.stdout.write(f"{environment.name}: {what}\n")


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _facts(deployed: Deployed | None, found: Sequence[Change]) -> dict[str, Any]:
    return {
        "deployed": deployed is not None and deployed.record is not None,
        "has_cluster": deployed is not None and deployed.has_cluster,
        "changes": [_data(each) for each in found],
    }


def _data(change: Change) -> dict[str, Any]:
    return {
        "path": change.path,
        "old": change.old,
        "new": change.new,
        "kind": change.effect.kind,
        "meaning": change.effect.meaning,
    }
