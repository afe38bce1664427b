"""`slurmpod explain`: what a rule requires, why, how to fix a violation, and its source."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator

from slurmpod.cli.output import print_json, say
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.jobs import lint
from slurmpod.jobs.registry import Rule as JobRule
from slurmpod.preflight.listed import SHOWN, ListedCheck, listed_checks
from slurmpod.problem_text import BOLD, paint
from slurmpod.problems import ExitCode
from slurmpod.rules.areas import AREAS, all_rules
from slurmpod.rules.registry import Rule

AnyRule = Rule | JobRule | ListedCheck


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("rule", nargs="?", metavar="RULE-ID", help="such as NET-003; default: all")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the facts as JSON")
    form.add_argument("--markdown", action="store_true", help="print docs/rules.md: all rules")


def run(options: argparse.Namespace) -> ExitCode:
    """Print one rule, or a line for each."""
    if options.markdown:
        sys.stdout.write(rules_page())
        return ExitCode.OK
    if not options.rule:
        _print_all(as_json=options.json)
        return ExitCode.OK
    known = {rule.id: rule for rule in _known_rules()}
    rule = known.get(options.rule.upper())
    if rule is None:
        guess = did_you_mean(options.rule, known)
        hint = guess or "'slurmpod explain' lists all rules"
        say(f"there is no rule '{options.rule}'; {hint}")
        return ExitCode.USAGE
    if options.json:
        print_json(_as_data(rule))
    else:
        _print_one(rule)
    return ExitCode.OK


def _known_rules() -> Iterator[AnyRule]:
    """Yield the rules for environments, then those for batch scripts and accounts."""
    yield from all_rules()
    yield from lint.all_rules()
    yield from listed_checks()


def _print_all(*, as_json: bool) -> None:
    if as_json:
        print_json([_as_data(rule) for rule in _known_rules()])
        return
    for rule in _known_rules():
        sys.stdout.write(f"{rule.id}  {rule.severity:<7}  {rule.title}\n")


def _print_one(rule: AnyRule) -> None:
    sys.stdout.write(paint(f"{rule.id} ({rule.severity}): {rule.title}\n", BOLD, sys.stdout))
    for label, text in (("Why", rule.why), ("Fix", rule.fix), ("Source", rule.source)):
        lines = textwrap.wrap(text, width=90, break_long_words=False, break_on_hyphens=False)
        sys.stdout.write(f"\n{label}:\n" + "".join(f"  {line}\n" for line in lines))


def _as_data(rule: AnyRule) -> dict[str, str]:
    return {name: str(getattr(rule, name)) for name in SHOWN}


INTRODUCTION = """\
# Rules

Every environment file is checked against these rules before anything is deployed:
`slurmpod validate environments/dev.yaml`. An error stops every command; a warning is only shown.
`slurmpod explain NET-003` prints one rule in the terminal.

This page is generated from the rules: `slurmpod explain --markdown > docs/rules.md`.
"""


def rules_page() -> str:
    """Return the page of all rules, area by area."""
    return "\n".join((INTRODUCTION, *_sections()))


def _sections() -> Iterator[str]:
    for area in AREAS:
        yield f"## {area.title}\n"
        for rule in area.rules:
            yield _section(rule)


def _section(rule: Rule) -> str:
    return (
        f"### {rule.id}: {rule.title}\n\n"
        f"{rule.why}\n\n"
        f"- Severity: {rule.severity}\n"
        f"- Fix: {rule.fix}\n"
        f"- Source: {_linked(rule.source)}\n"
    )


def _linked(source: str) -> str:
    return f"<{source}>" if source.startswith("https://") else f"`{source}`"
