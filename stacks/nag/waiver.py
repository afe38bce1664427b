"""One accepted finding of cdk-nag, and patterns for the names in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiver:
    """One accepted finding.

    `rule` is the plain id, or a glob for the same rule of several packs. `detail` is a glob for
    the text in brackets after it, such as the policy or the resource, where a literal star is
    written [*]. `path` is a glob for the construct, in which a star matches within one part of the
    path. `beside` is a glob for another construct that must exist; `without` is one for a construct
    that must not exist. If a condition is not met, the finding is not accepted.
    """

    rule: str
    path: str
    reason: str
    detail: str = ""
    beside: str = "*"
    without: str = ""


NAME = "[!*]*"
"""A name or a token for one, but not a literal star, which would mean all."""

HERE = f"{NAME}:{'[0-9]' * 12}"
"""One Region and one account, as in ARNs."""
