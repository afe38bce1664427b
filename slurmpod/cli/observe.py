"""`slurmpod observe`: how a live cluster differs from the platform profile."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.cluster import ClusterView
from slurmpod.cli.connect import has_group, has_plugin
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deployed import require_account
from slurmpod.operations.observe import observe
from slurmpod.platform_profiles.difference import Difference
from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.observed import as_profile, differences
from slurmpod.problems import ExitCode
from slurmpod.whole_file import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "--out", type=Path, help="the profile to write (default: NAME-profile.yaml)"
    )
    parser.add_argument(
        "--group", action="append", default=[], help="only a node of this group; may be repeated"
    )
    parser.add_argument("--compare", action="store_true", help="list differences, write nothing")
    parser.add_argument("--json", action="store_true", help="with --compare: print them as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Inspect a node of each group, and write or list its differences from the built-in profile."""
    resolved = sound_environment(options.file).resolved
    if not has_plugin():
        return ExitCode.FAILED
    if not all(has_group(resolved, name) for name in options.group):
        return ExitCode.USAGE
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    seen = observe(ClusterView(clients), resolved, NodeSessions(clients), options.group)
    found = differences(seen.nodes, load().profile)
    if options.json:
        print_json([{**dataclasses.asdict(each), "breaks": each.breaks} for each in found])
        return ExitCode.OK
    say(f"{seen.first}: {seen.software}; nodes inspected: {len(seen.nodes)}")
    if options.compare:
        _list(found)
        return ExitCode.OK
    out = options.out or Path(f"{resolved.name}-profile.yaml")
    source = f"{seen.first} of {resolved.name} in {resolved.region}, {datetime.now(UTC):%Y-%m-%d}"
    profile = as_profile(found, f"The cluster {resolved.name}: {seen.software}.", source)
    write_whole(out, yaml.safe_dump(profile, sort_keys=False, width=100))
    say(f"rehearse with it: slurmpod rehearse --profile {out} {options.file}")
    return ExitCode.OK


def _list(found: Sequence[Difference]) -> None:
    """Print differences, the worst first."""
    if not found:
        say("no difference from the built-in profile")
    for each in found:
        place = ".".join(each.place)
        where = f" (on {', '.join(each.nodes)})" if each.nodes else ""
        there, here = _shown(each.live), _shown(each.profile)
        sys.stdout.write(f"{place}: {there}{where}; the profile: {here}; {each.breaks}\n")


def _shown(value: Any) -> str:
    """Return a value in one line; the number of lines of a longer one."""
    if value is None:
        return "missing"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    lines = str(value).splitlines()
    return f"{len(lines)} lines" if len(lines) > 1 else str(value)
