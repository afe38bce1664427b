"""`slurmpod plan`: what a deployment creates, costs, and how long it takes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say_next
from slurmpod.cli.plan_patches import (
    as_data,
    asked,
    asked_text,
    patched_groups,
    unasked_text,
)
from slurmpod.cli.plan_text import plan_data, plan_text, rights_data
from slurmpod.permissions.rights import rights_of_users
from slurmpod.plan.plan import plan_of
from slurmpod.plan.prices import Prices, bundled_prices, by_item
from slurmpod.problems import ExitCode
from slurmpod.rules.check import Sound

if TYPE_CHECKING:
    from slurmpod.operations.difference import Difference


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "--prices",
        choices=["bundled", "live"],
        default="bundled",
        help="bundled: slurmpod's own list; live: AWS's current prices (default: bundled)",
    )
    parser.add_argument(
        "--deployed", action="store_true", help="also compare with the deployment, as diff does"
    )
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the plan; with --deployed also the difference, which decides the exit code."""
    sound = sound_environment(options.file)
    plan = plan_of(sound.resolved, _prices(options.prices, sound.resolved.region))
    rights = rights_of_users(sound.resolved)
    data = {**plan_data(plan), "rights_of_users": rights_data(rights)}
    if options.json and not options.deployed:
        print_json(data)
        return ExitCode.OK
    if options.json:
        return _json_with_difference(data, sound, options.file)
    sys.stdout.write(plan_text(plan, rights))
    if plan.total.is_least and options.prices == "bundled" and not options.deployed:
        say_next("plan --prices live", options.file)
    if options.deployed:
        return _show_difference(sound, options.file)
    sys.stdout.write(unasked_text(sound.resolved, options.file))
    say_next("rehearse", options.file)
    return ExitCode.OK


def _prices(which: str, region: str) -> Prices:
    if which == "bundled":
        return bundled_prices(region)
    from slurmpod.aws.clients import clients_of  # needs the extra 'aws'
    from slurmpod.aws.price_list import live_prices

    return by_item(live_prices(clients_of(region), region))


def _json_with_difference(plan: dict[str, Any], sound: Sound, file: Path) -> ExitCode:
    from slurmpod.cli.diff import difference_of, facts, verdict  # needs the extra 'aws'

    difference = difference_of(sound)
    patches = as_data(asked(sound.resolved)) if _is_patched(difference) else []
    print_json({**plan, "difference": facts(difference), "patches": patches})
    return verdict(difference, file)


def _show_difference(sound: Sound, file: Path) -> ExitCode:
    from slurmpod.cli.diff import difference_of, follows, show  # needs the extra 'aws'

    difference = difference_of(sound)
    sys.stdout.write("\nChanges to the deployment\n")
    code = show(difference, sound.source, file)
    if _is_patched(difference):
        sys.stdout.write(asked_text(asked(sound.resolved)))
    if code is ExitCode.OK:
        say_next(follows(difference), file)
    return code


def _is_patched(difference: Difference) -> bool:
    """Return whether the cluster exists and HyperPod patches some of its groups."""
    deployed = difference.deployed
    return bool(deployed and deployed.has_cluster and patched_groups(difference.wanted))
