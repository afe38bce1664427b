"""Properties of constructs: refusal of wrong ones, and dependencies on the resources they name."""

from __future__ import annotations

from collections.abc import Sequence

from constructs import Construct


class WrongProperties(ValueError):
    """A construct has wrong properties; the text says what is wrong and what is allowed."""


def refuse(construct: Construct, mistakes: Sequence[str]) -> None:
    """Check that a construct's properties have no mistakes.

    Raises:
        WrongProperties: There are mistakes; the text lists all of them.
    """
    if mistakes:
        kind, lines = type(construct).__name__, "\n  ".join(mistakes)
        raise WrongProperties(f"{kind} {construct.node.path} has wrong properties:\n  {lines}")


def make_after(construct: Construct, *others: object) -> None:
    """Make `construct` depend on those of `others` that are constructs, with all their children.

    A resource known only by its id or ARN exists already, or its stack is deployed earlier.
    Imported constructs have no specific Python type, but they have a node, and may have children,
    such as rules that were added to a security group.
    """
    for other in others:
        if hasattr(other, "node"):
            construct.node.add_dependency(other)
