"""Stacks on the command line: finding one by name, and resuming work on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli.output import say
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.resolve import Resolved


def stack_named(resolved: Resolved, written: str) -> str | None:
    """Return a stack's full name, also from a name without the environment's prefix.

    Returns None, after printing the known ones, for an unknown stack.
    """
    names = resolved.stacks.in_order()
    for name in (written, f"{resolved.name}-{written}"):
        if name in names:
            return name
    short = [name.removeprefix(f"{resolved.name}-") for name in names]
    guess = did_you_mean(written, [*names, *short]) or f"it has {', '.join(names)}"
    say(f"{resolved.name} has no stack '{written}'; {guess}")
    return None


@contextmanager
def way_back(work: StackWork, again: str) -> Iterator[None]:
    """On Ctrl-C within the block, print what continues and how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        going: list[str] = []
        with suppress(AwsUnavailable):
            going = work.in_progress()
        if going:
            say(f"CloudFormation continues with {', '.join(going)}; nothing else is started")
        say(f"to go on from there: {again}")
        raise
