"""Findings of rules and security packs on an environment, and the reasons for accepted ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmpod.problems import Problem
from slurmpod.resolve import Resolved
from slurmpod.rules.areas import rule_by_id
from slurmpod.rules.check import Sound

ACCEPTED_FILE = Path(__file__).parents[1] / "data" / "accepted_findings.json"
"""Generated from the stacks' waivers by `make golden`: see `tools/accepted_findings.py`."""


@dataclass(frozen=True)
class Suppressed:
    """A warning that the file accepts: the rule, its subject and the user's reason."""

    rule: str
    title: str
    reason: str


@dataclass(frozen=True)
class Accepted:
    """Findings of cdk-nag that slurmpod's own stacks accept; a star means several packs."""

    rules: tuple[str, ...]
    stacks: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Findings:
    """All findings; none is an error, because a file with errors is not rendered."""

    warnings: tuple[Problem, ...]
    suppressed: tuple[Suppressed, ...]
    accepted: tuple[Accepted, ...]


def findings_of(sound: Sound) -> Findings:
    """Return the findings on an environment; reads the data that comes with slurmpod."""
    return Findings(
        sound.warnings,
        tuple(
            Suppressed(each.rule, _title(each.rule), each.reason)
            for each in sound.environment.suppress
        ),
        accepted_in(sound.resolved, json.loads(ACCEPTED_FILE.read_text())),
    )


def accepted_in(resolved: Resolved, rows: Any) -> tuple[Accepted, ...]:
    """Return the accepted findings that stacks of this environment can have."""
    there = {name.removeprefix(f"{resolved.name}-") for name in resolved.stacks.in_order()}
    return tuple(
        Accepted(tuple(row["rules"]), stacks, row["reason"])
        for row in rows
        if (stacks := tuple(stack for stack in row["stacks"] if stack in there))
    )


def _title(rule: str) -> str:
    found = rule_by_id(rule)
    return found.title if found else "a check that needs the account"
