"""Stacks on the command line: which one is named, and how to come back to work on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli.output import say
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.resolve import Resolved


def stack_named(resolved: Resolved, written: str) -> str | None:
    """Return the name of a stack, also where it is written without the environment's.

    None, after saying which there are, for one that there is not.
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
    """Say what goes on, and how to come back, where Ctrl-C ends the work within."""
    try:
        yield
    except KeyboardInterrupt:
        going: list[str] = []
        with suppress(AwsUnavailable):
            going = work.in_progress()
        if going:
            say(f"CloudFormation goes on with {', '.join(going)}; nothing else is begun")
        say(f"go on from there: {again}")
        raise
