"""`slurmpod init`: a first environment file, with suggestions from the account."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from slurmpod.aws.clients import clients_of, usual_region
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.preflight.account_survey import Surroundings, own_account, survey
from slurmpod.preflight.check import check
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.first_environment import (
    DEFAULT_COUNT,
    DEFAULT_TYPE,
    Choices,
    ChosenSubnet,
    environment_text,
    free_range,
)
from slurmpod.preflight.subjects.quotas import QUOTAS
from slurmpod.preflight.subjects.zones import ZONES
from slurmpod.problem_text import problems_text
from slurmpod.problems import ExitCode, Problem, WorkFailed
from slurmpod.reading.read import read_as
from slurmpod.rules.check import Sound, sound
from slurmpod.whole_file import write_whole

NEW_VPC = "new"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the file to write, such as environments/mine.yaml")
    parser.add_argument("--name", help="name of the environment (default: the file's)")
    parser.add_argument("--account", help="12 digits (default: the account of the credentials)")
    parser.add_argument("--region", help="such as us-west-2 (default: the shell's)")
    parser.add_argument("--instance-type", help=f"type of the workers (default: {DEFAULT_TYPE})")
    parser.add_argument("--count", type=int, help=f"number of workers (default: {DEFAULT_COUNT})")
    parser.add_argument(
        "--zone", help="such as usw2-az2 (default: the first one that offers the type)"
    )
    parser.add_argument("--vpc", help=f"id of an existing VPC (default: a {NEW_VPC} one)")
    parser.add_argument("--json", action="store_true", help="print the choices as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Ask for values that have no option, and write the file; never overwrite one."""
    if _is_taken(options.file):
        return ExitCode.USAGE
    asker = Asker(options)
    with if_interrupted("nothing was written"):
        choices, around = _choose(asker, options)
    if asker.missing:
        say("without a terminal, these options are required:")
        say("\n".join(f"  {option}" for option in asker.missing))
        return ExitCode.USAGE
    text = environment_text(choices)
    checked = sound(read_as(str(options.file), text))
    if _is_taken(options.file):  # it may have been created meanwhile
        return ExitCode.USAGE
    options.file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(options.file, text)
    if options.json:
        print_json({"file": str(options.file), **asdict(choices)})
    else:
        sys.stdout.write(f"{options.file} describes {choices.name}: {_in_words(choices)}\n")
    _warn(checked, around)
    say_next("preflight" if around else "validate", options.file)
    return ExitCode.OK


def _is_taken(file: Path) -> bool:
    if file.exists():
        say(f"{file} already exists: choose another name")
    return file.exists()


@dataclass
class Asker:
    """Answers from options, from the user at the terminal, or from defaults.

    Without a terminal, `missing` collects the questions that have no default.
    """

    options: argparse.Namespace
    missing: list[str] = field(default_factory=list)

    def answer(self, option: str, question: str, usual: str = "") -> str:
        """Return one answer; empty if it is missing."""
        given = getattr(self.options, option.replace("-", "_"))
        if given is not None:
            return str(given)
        if not sys.stdin.isatty():
            if not usual:
                self.missing.append(f"--{option}: {question}")
            return usual
        return _asked(question, usual)


def _asked(question: str, usual: str) -> str:
    while True:
        sys.stderr.write(f"{question} [{usual}]: " if usual else f"{question}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise WorkFailed("nothing was written: the answers ended")
        if answer := line.strip() or usual:
            return answer


def _choose(asker: Asker, options: argparse.Namespace) -> tuple[Choices, Surroundings | None]:
    name = asker.answer("name", "Name of the environment", options.file.stem)
    region = asker.answer("region", "AWS Region, such as us-west-2", usual_region())
    instance_type = asker.answer("instance-type", "Instance type of the workers", DEFAULT_TYPE)
    count = asker.answer("count", "Number of workers", str(DEFAULT_COUNT))
    if not count.isdigit():
        raise WorkFailed(f"nothing was written: '{count}' is not a number of workers")
    account, around = _looked_up(region, instance_type)
    account = asker.answer("account", "AWS account, 12 digits", account)
    zone = asker.answer("zone", _zone_question(around), _usual_zone(around))
    vpc = asker.answer("vpc", _vpc_question(around), NEW_VPC)
    taken = [cidr for each in around.vpcs for cidr in each.cidrs] if around else []
    subnet = _subnet(vpc, zone, around) if vpc != NEW_VPC and zone else None
    cidr = free_range(taken)
    return Choices(name, account, region, zone, instance_type, int(count), cidr, subnet), around


def _looked_up(region: str, instance_type: str) -> tuple[str, Surroundings | None]:
    """Return the account and its resources; nothing without credentials."""
    if not region:
        return "", None
    clients = clients_of(region)
    account = own_account(clients)
    if not account:
        say("no AWS credentials: the account is not checked")
        return "", None
    around = survey(clients, instance_type)
    for reason in around.unseen:
        say(reason)
    return account, around


def _zone_question(around: Surroundings | None) -> str:
    if around is None or not around.zones:
        return "Availability Zone, such as usw2-az2"
    zones = ", ".join(
        f"{each.id} ({each.name}{', with the type' if each.id in around.offering else ''})"
        for each in around.zones
    )
    return f"Availability Zone: {zones}"


def _usual_zone(around: Surroundings | None) -> str:
    return next(iter(around.offering), "") if around else ""


def _vpc_question(around: Surroundings | None) -> str:
    own = [f"{each.id} ({', '.join(each.cidrs)})" for each in around.vpcs] if around else []
    return f"VPC: {', '.join((NEW_VPC, *own))}"


def _subnet(vpc: str, zone: str, around: Surroundings | None) -> ChosenSubnet:
    """Return the private subnet of a VPC in a zone; raises WorkFailed if it has none."""
    if around is None:
        raise WorkFailed(f"the subnets of {vpc} cannot be looked up without AWS credentials")
    ids = {each.name: each.id for each in around.zones}
    for each in around.vpcs:
        if each.id == vpc and ids.get(zone, zone) in each.subnets:
            return each.subnets[ids.get(zone, zone)]
    zones = sorted(zone for each in around.vpcs if each.id == vpc for zone in each.subnets)
    has = f"it has some in {', '.join(zones)}" if zones else "it has none, or does not exist"
    raise WorkFailed(f"{vpc} has no private subnet in {zone}: {has}")


def _in_words(choices: Choices) -> str:
    where = choices.subnet.vpc_id if choices.subnet else f"a new VPC, {choices.vpc_cidr}"
    workers = f"{choices.count} x {choices.instance_type}"
    return f"{workers} in {choices.zone} of {choices.region}, in {where}"


def _warn(checked: Sound, around: Surroundings | None) -> None:
    """Print what preflight checks find in the account."""
    problems = (*checked.warnings, *_of_account(checked, around))
    if problems:
        say(problems_text(problems, sys.stderr) + "\n")


def _of_account(checked: Sound, around: Surroundings | None) -> tuple[Problem, ...]:
    """Judge the facts as preflight does, which gathers more of them."""
    if around is None:
        return ()
    resolved = checked.resolved
    facts = Facts(
        resolved.name,
        resolved.region,
        datetime.now(UTC),
        answers={ZONES: around.zones or None, QUOTAS: around.quotas or None},
    )
    return check(checked, facts)
