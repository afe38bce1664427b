"""The error of constructs that were given properties that AWS would refuse."""

from __future__ import annotations

from collections.abc import Sequence

from constructs import Construct


class WrongProperties(ValueError):
    """A construct cannot be made so; the text says what is wrong and what is allowed."""


def refuse(construct: Construct, mistakes: Sequence[str]) -> None:
    """Stop if there are mistakes in the properties of a construct.

    Raises:
        WrongProperties: There are, and this names all of them.
    """
    if mistakes:
        kind, lines = type(construct).__name__, "\n  ".join(mistakes)
        raise WrongProperties(f"{kind} {construct.node.path} has wrong properties:\n  {lines}")
