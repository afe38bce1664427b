"""The caller, and whether the account has the Region."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight.facts import Caller, Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

REGIONS = "https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-regions.html"
CREDENTIALS = "https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html"


def ask_caller(clients: AwsClients, _: Resolved | None = None) -> Caller:
    """Return the owner of the credentials."""
    found = clients.sts.get_caller_identity()
    return Caller(found["Account"], found["Arn"])


CALLER = Question("caller", "the credentials", ("sts:GetCallerIdentity",), ("sts",), ask_caller)


def _region_status(clients: AwsClients, resolved: Resolved) -> str:
    found = clients.regions.describe_regions(AllRegions=True)["Regions"]
    statuses = {each["RegionName"]: str(each["OptInStatus"]) for each in found}
    return statuses.get(resolved.region, "unknown")


REGION_STATUS = Question(
    "region_status", "the Region", ("ec2:DescribeRegions",), ("regions",), _region_status
)


@PREFLIGHT.rule(
    "PRE-003",
    "The credentials belong to the environment's account",
    why="With another account all other checks would use the wrong facts.",
    fix="use credentials of the environment's account, or correct the account",
    source=CREDENTIALS,
)
def _account_is_the_environments(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.caller and facts.caller.account != resolved.account:
        yield Finding(("account",), f"the credentials belong to account {facts.caller.account}")


@PREFLIGHT.rule(
    "PRE-004",
    "The account has the Region",
    why="Newer Regions must be enabled for an account; until then every request there fails.",
    fix="enable the Region (AWS Account Management, Regions), which takes minutes to hours",
    source=REGIONS,
)
def _region_is_enabled(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    status = facts[REGION_STATUS]
    if status in {"not-opted-in", "unknown"}:
        yield Finding(("region",), f"{resolved.region} is {status} in this account")


QUESTIONS = (REGION_STATUS,)
