"""Properties that constructs are given: wrong ones are refused, what they name is made before."""

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


def make_after(construct: Construct, *others: object) -> None:
    """Let `construct` be made after those of `others` that are constructs, with all their parts.

    What is only known by its id or ARN is there already, or its stack is deployed before. Imported
    constructs have no type that Python knows, but a node as all have, and may have parts: rules
    that were added to a security group.
    """
    for other in others:
        if hasattr(other, "node"):
            construct.node.add_dependency(other)
