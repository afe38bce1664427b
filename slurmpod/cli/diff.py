"""`slurmpod diff`: what a deployment would change, replace or lose, before it is begun."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.inventory import AccountInventory
from slurmpod.changes.change import Change
from slurmpod.changes.compare import changes
from slurmpod.cli.cdk_command import cdk_command
from slurmpod.cli.changes_text import as_data, changes_text
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say
from slurmpod.environment.base import Kind
from slurmpod.environment.environment import Environment
from slurmpod.operations.deployed import Deployed, deployed_environment
from slurmpod.problems import ExitCode
from slurmpod.rules.check import Sound


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--json", action="store_true", help="print the changes as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Compare the file with what is deployed; a protected environment refuses what would lose."""
    difference = difference_of(sound_environment(options.file))
    if options.json:
        print_json(facts(difference))
        return verdict(difference, options.file)
    code = show(difference, options.file)
    if code is ExitCode.OK:
        say(f"next: {cdk_command('diff', options.file)}")
    return code


@dataclass(frozen=True)
class Difference:
    """An environment, what of it is deployed (None: nothing), and the changes between them."""

    wanted: Sound
    deployed: Deployed | None
    changes: Sequence[Change]


def difference_of(wanted: Sound) -> Difference:
    """Ask the account of an environment what is deployed, and compare; raises AwsUnavailable."""
    clients = clients_of(wanted.environment.region)
    account, inventory = AwsAccount(clients), AccountInventory(clients)
    deployed = deployed_environment(account, inventory, wanted.resolved)
    if deployed is None or deployed.record is None:
        return Difference(wanted, deployed, ())
    found = changes(deployed.record, wanted.resolved, has_cluster=deployed.has_cluster)
    return Difference(wanted, deployed, found)


def show(difference: Difference, file: Path) -> ExitCode:
    """Print the changes, and return the verdict."""
    name, deployed = difference.wanted.environment.name, difference.deployed
    if deployed is None:
        sys.stdout.write(f"{name} is not deployed: everything would be new\n")
    elif deployed.record:
        sys.stdout.write(changes_text(difference.changes, name, difference.wanted.source))
    return verdict(difference, file)


def verdict(difference: Difference, file: Path) -> ExitCode:
    """Say what stands against a deployment, if anything does."""
    environment, deployed = difference.wanted.environment, difference.deployed
    is_unknown = deployed is not None and deployed.record is None
    if deployed and not deployed.has_cluster:
        say(_without_cluster(deployed, environment, file))
    harmful = [change for change in difference.changes if not change.is_harmless]
    if any(change.effect.kind is Kind.REFUSED for change in harmful):
        say("AWS refuses the changes that are marked 'refused': do not deploy this")
        return ExitCode.FAILED
    if (harmful or is_unknown) and environment.protected:
        say(f"refused: {environment.name} is protected; write 'protected: false' to allow it")
        return ExitCode.FAILED
    return ExitCode.OK


def facts(difference: Difference) -> dict[str, Any]:
    """Return the difference as plain data."""
    deployed = difference.deployed
    return {
        "deployed": deployed is not None and deployed.record is not None,
        "has_cluster": deployed is not None and deployed.has_cluster,
        "changes": [as_data(each) for each in difference.changes],
    }


def _without_cluster(deployed: Deployed, environment: Environment, file: Path) -> str:
    left = ", ".join(deployed.stacks)
    if deployed.record is None:
        return (
            f"{environment.name} has no cluster, and CloudFormation does not remember what was "
            f"deployed. What a deployment changes in {left} is not known here: look for "
            f"replacements in what this prints: {cdk_command('diff', file)}"
        )
    return (
        f"{environment.name} has no cluster: the file is compared with what was deployed before "
        f"the stack of the cluster was deleted. The stacks that are left: {left}"
    )
