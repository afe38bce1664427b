"""The CDK app's refusal to synthesize a protected environment that would lose something.

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
    """Yield reasons to refuse protected environments; `confirmed` is the value of `-c confirm=`."""
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
    """Return the ways to deploy it anyway."""
    return (
        f"  fix: revert these changes, or deploy them and confirm the name: "
        f"slurmpod deploy {shlex.quote(str(file))}\n"
        f"  commands of the CDK accept exactly these with -c confirm={difference.confirmation}"
    )


def _unconfirmed(difference: Difference, file: Path) -> str:
    lines = [
        f"{kind_text(each, sys.stderr)}: {each.path}: {values_text(each.old, each.new)}\n"
        f"  {each.effect.meaning}"
        for each in difference.harmful
    ]
    what = "\n".join(lines) or "there is no record of what is deployed, so anything may be lost"
    name = difference.wanted.name
    return f"refused: {name} is protected\n{what}\n{how_to_confirm(difference, file)}"


def _unseen(resolved: Resolved, reason: str) -> str:
    return (
        f"refused: {resolved.name} is protected, and its possible losses are unknown: {reason}\n"
        "  fix: let the credentials of this shell read the deployment; name a profile "
        "with AWS_PROFILE instead of --profile\n"
        f"  or accept any loss with -c confirm={confirmation_unseen(resolved)}"
    )
