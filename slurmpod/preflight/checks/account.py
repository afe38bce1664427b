"""Checks of the credentials, the account and the Region."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slurmpod.preflight.facts import Facts
from slurmpod.preflight.names import NAMED
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

REGIONS = "https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-regions.html"
CREDENTIALS = "https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html"

PREFLIGHT.reported_elsewhere(
    "PRE-001",
    "The credentials open an account",
    why="Everything else is asked with them.",
    fix="log in (aws sso login), or name a profile: export AWS_PROFILE=...",
    source=CREDENTIALS,
)

PREFLIGHT.reported_elsewhere(
    "PRE-002",
    "AWS answers every question",
    why="What is not known cannot be judged: the checks that rest on it are left out.",
    fix="allow the action to who runs preflight (docs/permissions.md), and run it again",
    source="docs/permissions.md",
    severity=Severity.WARNING,
)


@PREFLIGHT.rule(
    "PRE-003",
    "The credentials belong to the environment's account",
    why="In another account everything else would be judged by the wrong facts.",
    fix="use credentials of the environment's account, or correct the account",
    source=CREDENTIALS,
)
def _account_is_the_environments(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.caller and facts.caller.account != resolved.account:
        yield Finding(("account",), f"the credentials belong to account {facts.caller.account}")


@PREFLIGHT.rule(
    "PRE-004",
    "The account has the Region",
    why="Accounts use newer Regions after they have enabled them; until then every request there "
    "fails.",
    fix="enable the Region (AWS Account Management, Regions), which takes minutes to hours",
    source=REGIONS,
)
def _region_is_enabled(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.region_status in {"not-opted-in", "unknown"}:
        yield Finding(("region",), f"{resolved.region} is {facts.region_status} in this account")


@PREFLIGHT.rule(
    "PRE-005",
    "The facts know what the environment names",
    why="Saved facts are those of the environment as it was: of what it names since then nothing "
    "is known.",
    fix="gather the facts again: slurmpod preflight without --facts",
    source="docs/preflight.md",
    severity=Severity.WARNING,
)
def _facts_know_what_is_named(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.caller is None or facts.caller.account != resolved.account:
        return
    refused = {each.question for each in facts.unanswered}
    for field, named in NAMED.items():
        known = getattr(facts, field) or {}
        for name, path in named(resolved).items():
            if field not in refused and name not in known:
                yield Finding(path, f"nothing is known of {name}")


@PREFLIGHT.rule(
    "PRE-006",
    "Who asks may look into what the environment names",
    why="Policies and the names of entries are read to be judged; what is closed is not judged.",
    fix="allow the action to who runs preflight (docs/permissions.md); suppress it if it is "
    "closed on purpose",
    source="docs/permissions.md",
    severity=Severity.WARNING,
)
def _what_is_named_is_open(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    closed: Mapping[str, Mapping[str, Any] | None] = {
        "buckets": facts.buckets,
        "keys": facts.keys,
        "secrets": facts.secrets,
    }
    for field, known in closed.items():
        for name, path in NAMED[field](resolved).items():
            found = (known or {}).get(name)
            if found and found.refused:
                yield Finding(path, f"{', '.join(found.refused)} is denied: {name} is not judged")
