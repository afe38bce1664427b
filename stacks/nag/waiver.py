"""One accepted finding of cdk-nag, and patterns for what it names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiver:
    """One accepted finding.

    `rule` is the plain id, or a glob for the same rule of several packs. `detail` is a glob for
    what cdk-nag writes in brackets behind it, such as the policy or the resource, where a literal
    star is written [*]. `path` is a glob for the construct, in which a star stays within one part
    of the path. `beside` is a glob for another construct, where the finding only comes up together
    with that one; `without` is one for a construct whose absence is the finding. Where that is
    otherwise, nothing is accepted.
    """

    rule: str
    path: str
    reason: str
    detail: str = ""
    beside: str = "*"
    without: str = ""


NAME = "[!*]*"
"""A name, or what stands for one: not a star itself, which would mean all."""

HERE = f"{NAME}:{'[0-9]' * 12}"
"""One Region and one account, as ARNs have them."""
