"""`slurmpod adopt`: take back what an earlier deployment left, instead of making it anew."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.holdings import Holdings
from slurmpod.aws.imports import ImportRefused, Imports
from slurmpod.cli.adoption_text import adoption_data, adoption_text
from slurmpod.cli.confirmation import is_confirmed
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import counted, print_json, say
from slurmpod.operations.adopt import adopt, plan_adoption
from slurmpod.operations.deployed import require_account
from slurmpod.problems import ExitCode

if TYPE_CHECKING:
    import argparse

    from slurmpod.operations.adopt import Adoption


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "--from",
        dest="former",
        metavar="NAME",
        help="the name that the environment had (default: the one that it has)",
    )
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("--json", action="store_true", help="print what is left as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Show what is left, take back what can be imported, and say what is to be written."""
    environment = sound_environment(options.file).environment
    former = options.former or environment.name
    try:
        clients = clients_of(environment.region)
        require_account(AwsAccount(clients), environment)
        holdings = Holdings(clients)
        adoption = plan_adoption(holdings, former, environment)
        _show(adoption, former, options)
        if adoption.is_work:
            if not is_confirmed(environment, options, "take these back"):
                say("nothing was changed")
                return ExitCode.FAILED
            adoption = adopt(holdings, Imports(clients), former, environment)
            say(f"{environment.name} has taken back {_count(adoption)}")
    except (AwsUnavailable, ImportRefused) as error:
        say(str(error))
        return ExitCode.FAILED
    return _say_what_comes_next(adoption, options.file)


def _show(adoption: Adoption, former: str, options: argparse.Namespace) -> None:
    if options.json:
        print_json(adoption_data(adoption))
    else:
        sys.stdout.write(adoption_text(adoption, former, str(options.file)))
        sys.stdout.flush()


def _count(adoption: Adoption) -> str:
    return counted(len(adoption.resources), "resource")


def _say_what_comes_next(adoption: Adoption, file: Path) -> ExitCode:
    path = shlex.quote(str(file))
    if adoption.lines:
        say(f"still to do: write the lines above into {file}, or the next deployment makes")
        say("new, empty file systems; then: slurmpod adopt " + path)
        return ExitCode.FAILED
    if not adoption.is_empty:
        say(f"next: npx cdk deploy --all -c env={path}")
    return ExitCode.OK
