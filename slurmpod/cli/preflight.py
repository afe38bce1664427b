"""`slurmpod preflight`: checks that need the account, before anything is created."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from slurmpod.aws.clients import clients_of
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.validate import print_problems
from slurmpod.operations.progress import Progress
from slurmpod.preflight.check import check
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.gather import gather
from slurmpod.preflight.saved import from_file, to_json
from slurmpod.problems import ExitCode, Problem, has_errors
from slurmpod.rules.check import Sound
from slurmpod.whole_file import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--facts", type=Path, metavar="FILE", help="check saved facts; makes no requests"
    )
    source.add_argument(
        "--save-facts", type=Path, metavar="FILE", help="also write the facts, as JSON"
    )
    parser.add_argument("--json", action="store_true", help="print the problems as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Print every problem found in the account; FAILED if one would stop a deployment."""
    sound = sound_environment(options.file)
    facts = from_file(options.facts, sound.resolved) if options.facts else asked(sound)
    if options.save_facts:
        write_whole(options.save_facts, to_json(facts))
        say(f"the facts are in {options.save_facts}")
    problems = check(sound, facts)
    _show(problems, facts, options)
    if has_errors(problems):
        return ExitCode.FAILED
    say_next("plan", options.file)
    return ExitCode.OK


def asked(sound: Sound) -> Facts:
    """Gather the facts with the credentials of this shell, and show progress."""
    clients, progress = clients_of(sound.resolved.region), Progress()
    with progress.stage("account checked"):
        return gather(clients, sound.resolved, datetime.now(UTC), progress.now)


def _show(problems: tuple[Problem, ...], facts: Facts, options: argparse.Namespace) -> None:
    if options.json:
        known = {"account": facts.caller.account if facts.caller else None, "region": facts.region}
        taken_at = facts.taken_at.isoformat()
        shown = [problem.as_dict() for problem in problems]
        print_json({**known, "taken_at": taken_at, "problems": shown})
        return
    print_problems(problems, [options.file])
    sys.stdout.flush()
