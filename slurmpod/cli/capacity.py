"""`slurmpod capacity`: search, buy, show and extend training plans."""

from __future__ import annotations

import argparse
import dataclasses
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import AwsClients, clients_of
from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.training_plans import Fee, Offer, Plan, Prolongation, TrainingPlans, Wanted
from slurmpod.cli.connect import has_group
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.node_changes import at_least
from slurmpod.cli.output import if_interrupted, print_json, say
from slurmpod.operations.capacity import (
    AT_THE_END,
    groups_of,
    is_sum,
    moment_text,
    notes_on,
    offer_of,
    plan_named,
    remaining,
    servers_of,
    type_of_plan,
    why_not_so_many_days,
)
from slurmpod.operations.deployed import require_account
from slurmpod.problems import ExitCode, counted
from slurmpod.resolve import Resolved, ResolvedGroup

NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,63}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    search = actions.add_parser("search", help="search for plans that fit a group")
    _add_search(search)
    buy = actions.add_parser("buy", help="buy a plan from a search")
    _add_search(buy)
    buy.add_argument("offer", metavar="OFFER", help="its id, from search")
    buy.add_argument("name", metavar="NAME", help="the name of the new plan")
    _add_payment(buy)
    show = actions.add_parser("show", help="show the account's plans and when they end")
    _add_file(show)
    extend = actions.add_parser("extend", help="buy more time for a plan")
    _add_file(extend)
    extend.add_argument("plan", metavar="PLAN|GROUP", help="a plan, or the group that uses it")
    extend.add_argument("--days", type=at_least(1), required=True, help="by how many days")
    _add_payment(extend)
    for each in (search, buy, show, extend):
        each.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")


def _add_search(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    parser.add_argument("group", help="the group to match in type, zone and count")
    parser.add_argument("--days", type=at_least(1), default=1, help="for how long (default: 1)")
    parser.add_argument("--nodes", type=at_least(1), help="how many (default: the group's count)")
    parser.add_argument("--from", dest="after", type=_day, metavar="DATE", help="earliest start")
    parser.add_argument("--until", dest="before", type=_day, metavar="DATE", help="latest end")


def _add_payment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pay", metavar="SUM", help="confirm this price without a prompt")


def _day(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a date such as 2026-12-01") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def run(options: argparse.Namespace) -> ExitCode:
    """Search, buy, show or extend."""
    resolved = sound_environment(options.file).resolved
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    plans = TrainingPlans(clients)
    if options.action == "show":
        return _show(options, resolved, plans)
    if options.action == "extend":
        return _extend(options, resolved, plans)
    if not has_group(resolved, options.group):
        return ExitCode.USAGE
    group = next(each for each in resolved.groups if each.name == options.group)
    kind, nodes = type_of_plan(group), options.nodes or group.count or 1
    servers = servers_of(kind, nodes)
    wanted = Wanted(kind, nodes, options.days, options.after, options.before, servers)
    offers = plans.offers(wanted)
    zone = _zone_name(clients, group)
    if options.action == "search":
        return _search(options, group, wanted, offers, zone)
    return _buy(options, resolved, group, plans, offer_of(offers, options.offer), zone)


def _zone_name(clients: AwsClients, group: ResolvedGroup) -> str:
    """Return this account's name for the zone of a group, as in offers."""
    with as_unavailable("list the zones"):
        zones: Any = clients.ec2.describe_availability_zones()["AvailabilityZones"]
    named = (each["ZoneName"] for each in zones if group.zone in (each["ZoneName"], each["ZoneId"]))
    return next(named, "")


def _search(
    options: argparse.Namespace,
    group: ResolvedGroup,
    wanted: Wanted,
    offers: Sequence[Offer],
    zone: str,
) -> ExitCode:
    if options.json:
        print_json([_plain(offer) for offer in offers])
        return ExitCode.OK
    what = f"{counted(wanted.nodes, 'node')} of {wanted.instance_type}"
    say(f"{what} for {counted(wanted.days, 'day')}: {counted(len(offers), 'offer')}")
    for offer in offers:
        sys.stdout.write(_offer_text(offer, group, zone))
    if not offers:
        say("try fewer nodes, other dates or fewer days: AWS only lists what is available")
        return ExitCode.FAILED
    words = ["slurmpod", "capacity", "buy", str(options.file), group.name, offers[0].id, "NAME"]
    say(f"next: {shlex.join([*words, *_same(options)])}")
    return ExitCode.OK


def _offer_text(offer: Offer, group: ResolvedGroup, zone: str) -> str:
    server = f"  {offer.server}" if offer.server else ""
    lines = [f"{offer.id}{server}  {offer.fee.text}{_by_the_hour(offer)}"]
    lines += [
        f"  {part.zone}  {moment_text(part.starts)} to {moment_text(part.ends)} UTC"
        for part in offer.parts
    ]
    lines += [f"  {note}" for note in notes_on(offer, group, zone)]
    return "\n".join(lines) + "\n"


def _by_the_hour(offer: Offer) -> str:
    node_hours = offer.nodes * offer.hours
    if offer.fee.amount is None or not node_hours:
        return ""
    return f"  ({Fee(offer.fee.amount / node_hours, offer.fee.currency).text} per node-hour)"


def _same(options: argparse.Namespace) -> list[str]:
    """Return the options of a search, so that `buy` finds the same offers."""
    words = ["--days", str(options.days)]
    words += ["--nodes", str(options.nodes)] if options.nodes else []
    words += ["--from", options.after.isoformat()] if options.after else []
    return words + (["--until", options.before.isoformat()] if options.before else [])


def _buy(
    options: argparse.Namespace,
    resolved: Resolved,
    group: ResolvedGroup,
    plans: TrainingPlans,
    offer: Offer,
    zone: str,
) -> ExitCode:
    if not NAME.fullmatch(options.name):
        say(f"'{options.name}' is not a plan name: use up to 64 letters, digits and single hyphens")
        return ExitCode.USAGE
    say(f"{counted(offer.nodes, 'node')} of {offer.instance_type}:")
    say(_offer_text(offer, group, zone).rstrip())
    say(f"{AT_THE_END}; `slurmpod capacity extend` buys more time, if AWS has any")
    if not _is_paid(options, offer.fee):
        return ExitCode.FAILED
    with if_interrupted(_unsure(options)):
        arn = plans.buy(options.name, offer.id, resolved.tags)
    if options.json:
        print_json({"arn": arn, **_plain(offer)})
    else:
        sys.stdout.write(f"{arn}\n")
    say(f"add to the group {group.name}: training_plan_arn: {arn}")
    say(f"next: slurmpod capacity show {shlex.quote(str(options.file))}")
    return ExitCode.OK


def _unsure(options: argparse.Namespace) -> str:
    file = shlex.quote(str(options.file))
    return f"the purchase may have succeeded; see: slurmpod capacity show {file}"


def _is_paid(options: argparse.Namespace, fee: Fee) -> bool:
    """Have the user type the price, or compare `--pay`; nothing else confirms a purchase."""
    if fee.amount is None:
        say("AWS reports no price, so slurmpod does not buy it: use the console")
        return False
    say(f"{fee.text} are due now, and a purchase cannot be undone")
    if options.pay is None:
        say(f"type {fee.amount:.2f} to pay:")
    typed = sys.stdin.readline() if options.pay is None else options.pay
    if is_sum(typed, fee.amount):
        return True
    say("that is not the price: nothing was bought")
    return False


def _show(options: argparse.Namespace, resolved: Resolved, plans: TrainingPlans) -> ExitCode:
    found, now = plans.all(), datetime.now(UTC)
    histories = {plan.arn: plans.history(plan.arn) for plan in found}
    if options.json:
        print_json(
            [
                {
                    **_plain(plan),
                    "groups": list(groups_of(plan, resolved)),
                    "extensions": [_plain(each) for each in histories[plan.arn]],
                }
                for plan in found
            ]
        )
        return ExitCode.OK
    if not found:
        sys.stdout.write(f"there are no training plans in {resolved.region}\n")
    for plan in found:
        sys.stdout.write(_plan_text(plan, resolved, now))
        for each in histories[plan.arn]:
            sys.stdout.write(f"  {_extension_text(each)}\n")
    if any(groups_of(plan, resolved) for plan in found):
        say(f"{AT_THE_END}: save checkpoints, and set time limits below the remaining time")
    return ExitCode.OK


def _plan_text(plan: Plan, resolved: Resolved, now: datetime) -> str:
    status = f"{plan.status}{': ' * bool(plan.message)}{plan.message}"
    groups = ", ".join(groups_of(plan, resolved))
    return (
        f"{plan.name}  {status}  {plan.in_use} of {plan.nodes} {plan.instance_type} in use  "
        f"{plan.zone}\n"
        f"  {moment_text(plan.starts)} to {moment_text(plan.ends)} UTC, {remaining(plan, now)}"
        f"{'; groups here: ' + groups if groups else ''}\n"
    )


def _extension_text(each: Prolongation) -> str:
    state = f", {each.status}, payment {each.payment}" if each.status else ""
    return (
        f"extended by {each.hours // 24} days to {moment_text(each.ends)} UTC for "
        f"{each.fee.text}{state}"
    )


def _extend(options: argparse.Namespace, resolved: Resolved, plans: TrainingPlans) -> ExitCode:
    if why := why_not_so_many_days(options.days):
        say(f"--days {options.days}: {why}")
        return ExitCode.USAGE
    plan = plan_named(plans.all(), resolved, options.plan)
    offers = plans.prolongations(plan.arn, options.days)
    if not offers:
        say(f"AWS offers no extension by {counted(options.days, 'day')} for {plan.name}: try fewer")
        return ExitCode.FAILED
    offer = min(offers, key=lambda each: (each.fee.amount is None, each.fee.amount or 0))
    say(_plan_text(plan, resolved, datetime.now(UTC)).rstrip())
    say(f"{counted(plan.nodes, 'node')}: {_extension_text(offer)}")
    say("nodes and jobs continue without interruption; the plan keeps its ARN")
    if not _is_paid(options, offer.fee):
        return ExitCode.FAILED
    with if_interrupted(_unsure(options)):
        extensions = plans.extend(offer.id)
    if options.json:
        print_json([_plain(each) for each in extensions])
    else:
        sys.stdout.writelines(f"{plan.name}  {_extension_text(each)}\n" for each in extensions)
    say(f"next: slurmpod capacity show {shlex.quote(str(options.file))}")
    return ExitCode.OK


def _plain(found: Offer | Plan | Prolongation) -> dict[str, Any]:
    """Return a value as JSON data: times in ISO 8601, amounts as text."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        if isinstance(value, tuple | list):
            return [plain(each) for each in value]
        if isinstance(value, datetime):
            return value.isoformat()
        return value if value is None or isinstance(value, int | str) else str(value)

    data: dict[str, Any] = plain(dataclasses.asdict(found))
    return data
