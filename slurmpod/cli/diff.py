"""`slurmpod diff`: what a deployment would change, replace or lose, before you start it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from slurmpod.aws.clients import clients_of
from slurmpod.cli.changes_text import as_data, changes_text
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.protection import how_to_confirm
from slurmpod.operations.deploy.cdk_command import cdk_command
from slurmpod.operations.deployed import Deployed
from slurmpod.operations.difference import Difference, compared_with_deployed
from slurmpod.operations.migration.moves import moves_in
from slurmpod.problems import ExitCode
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.rules.check import Sound


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--json", action="store_true", help="print the changes as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Compare the file with the deployment; fail if a protected environment would lose data."""
    wanted = sound_environment(options.file)
    difference = difference_of(wanted)
    if options.json:
        print_json(facts(difference))
        return verdict(difference, options.file)
    code = show(difference, wanted.source, options.file)
    if code is ExitCode.OK:
        say_next(follows(difference), options.file)
    return code


def follows(difference: Difference) -> str:
    """Return the next command: a move has its own, and no changes need no deployment."""
    if moves_in(difference.changes):
        return "migrate"
    deployed = difference.deployed
    is_there = deployed is not None and deployed.record is not None and deployed.has_cluster
    return "status" if is_there and not difference.changes else "deploy"


def difference_of(wanted: Sound) -> Difference:
    """Read an environment's deployed state from its account, and compare; raises AwsUnavailable."""
    return compared_with_deployed(clients_of(wanted.environment.region), wanted.resolved)


def show(difference: Difference, source: YamlSource, file: Path) -> ExitCode:
    """Print the changes, and return the verdict."""
    name, deployed = difference.wanted.name, difference.deployed
    if deployed is None:
        sys.stdout.write(f"{name} is not deployed: everything would be new\n")
    elif deployed.record:
        sys.stdout.write(changes_text(difference.changes, name, source))
    return verdict(difference, file)


def verdict(difference: Difference, file: Path) -> ExitCode:
    """Print the reasons not to deploy, if there are any."""
    say_about_cluster(difference, file)
    if difference.is_refused_by_aws:
        say(
            "AWS rejects the changes marked 'refused', or is not known to accept them: "
            "do not deploy this"
        )
        return ExitCode.FAILED
    if difference.needs_confirmation:
        say(f"refused: {difference.wanted.name} is protected\n{how_to_confirm(difference, file)}")
        return ExitCode.FAILED
    return ExitCode.OK


def say_about_cluster(difference: Difference, file: Path) -> None:
    """Print what the file is compared with if there is no cluster."""
    deployed = difference.deployed
    if deployed and not deployed.has_cluster:
        say(_without_cluster(deployed, difference.wanted.name, file))


def facts(difference: Difference) -> dict[str, Any]:
    """Return the difference as plain data."""
    deployed = difference.deployed
    return {
        "deployed": deployed is not None and deployed.record is not None,
        "has_cluster": deployed is not None and deployed.has_cluster,
        "changes": [as_data(each) for each in difference.changes],
    }


def _without_cluster(deployed: Deployed, name: str, file: Path) -> str:
    left = ", ".join(deployed.stacks)
    if deployed.record is None:
        return (
            f"{name} has no cluster, and CloudFormation has no record of what was deployed. "
            f"The changes to {left} are unknown: look for replacements in the output of "
            f"{cdk_command('diff', file)}"
        )
    return (
        f"{name} has no cluster: the file is compared with the last deployment before "
        f"its cluster stack was deleted. Remaining stacks: {left}"
    )
