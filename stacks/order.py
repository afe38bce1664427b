"""The order in which one stack's resources are made, where no reference tells it."""

from __future__ import annotations

from constructs import Construct


def make_after(construct: Construct, *others: object) -> None:
    """Let `construct` be made after those of `others` that are constructs, with all their parts.

    What is only known by its id or ARN is there already, or its stack is deployed before. Imported
    constructs have no type that Python knows, but a node as all have, and may have parts: rules
    that were added to a security group.
    """
    for other in others:
        if hasattr(other, "node"):
            construct.node.add_dependency(other)
