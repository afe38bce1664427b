"""The refusal of the CDK app to synthesize what a protected environment would lose unasked.

The CDK's command line starts the app alike for `synth`, `diff` and `deploy`, so all of them refuse.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from slurmpod.aws.clients import clients_of
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli.changes_text import kind_text, values_text
from slurmpod.operations.difference import (
    Difference,
    confirmation_unseen,
    difference_seen_by_the_cdk,
)
from slurmpod.resolve import Resolved


def refusals(environments: Mapping[Path, Resolved], confirmed: str) -> Iterator[str]:
    """Yield why protected ones are not synthesized; `confirmed` is what `-c confirm=` says."""
    given = {each.strip() for each in confirmed.split(",")}
    for file, resolved in environments.items():
        try:
            difference = difference_seen_by_the_cdk(clients_of(resolved.region), resolved)
        except AwsUnavailable as reason:
            if confirmation_unseen(resolved) not in given:
                yield _unseen(resolved, str(reason))
            continue
        if difference.needs_confirmation and difference.confirmation not in given:
            yield _unconfirmed(difference, file)


def how_to_confirm(difference: Difference, file: Path) -> str:
    """Return the ways to deploy it all the same."""
    return (
        f"  fix: take these changes back, or deploy them with a question for the name: "
        f"slurmpod deploy {shlex.quote(str(file))}\n"
        f"  commands of the CDK take them, and no others, with -c confirm={difference.confirmation}"
    )


def _unconfirmed(difference: Difference, file: Path) -> str:
    told = [
        f"{kind_text(each, sys.stderr)}: {each.path}: {values_text(each.old, each.new)}\n"
        f"  {each.effect.meaning}"
        for each in difference.harmful
    ]
    what = "\n".join(told) or "nobody remembers what is deployed, so that anything may be lost"
    name = difference.wanted.name
    return f"refused: {name} is protected\n{what}\n{how_to_confirm(difference, file)}"


def _unseen(resolved: Resolved, reason: str) -> str:
    return (
        f"refused: {resolved.name} is protected, and what this would lose is not known: {reason}\n"
        "  fix: let the credentials of this shell read what is deployed; of a profile, say which "
        "with AWS_PROFILE in place of --profile\n"
        f"  or lose what may be lost, with -c confirm={confirmation_unseen(resolved)}"
    )
