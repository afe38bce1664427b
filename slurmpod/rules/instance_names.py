"""Whether a text could be the name of an instance type at all, and which is meant by it.

Source: EC2 instance types guide, "Instance type naming conventions": a family of letters with the
number of its generation and attributes, a dot, and a size of EC2's vocabulary.
"""

from __future__ import annotations

import re

from slurmpod.model.catalog import instance_types
from slurmpod.model.suggestion import nearest

FAMILY = re.compile(r"[a-z]{1,4}[0-9]{1,2}[a-z0-9]*(-[a-z0-9]+)*")

MULTIPLES = (2, 3, 4, 6, 8, 9, 10, 12, 16, 18, 24, 32, 36, 48, 56, 64, 96, 112, 224, 480)
SIZES = frozenset(
    {"nano", "micro", "small", "medium", "large", "xlarge"}
    | {f"{multiple}xlarge" for multiple in MULTIPLES}
)
"""All that EC2 has in its families, but for metal (EC2 API reference, RunInstances)."""


def is_plausible(name: str) -> bool:
    """Tell whether `ml.<family>.<size>` is composed like the types of EC2."""
    _, family, size = name.split(".")
    return bool(FAMILY.fullmatch(family)) and size in SIZES


def likely_meant(name: str) -> str:
    """Return a hint at known types for a plausible name: its family's, or one alike of its size.

    Only families are compared: equal sizes would make names alike that have nothing in common.
    """
    _, family, size = name.split(".")
    known = [each.split(".") for each in instance_types()]
    if sizes := [its_size for _, its_family, its_size in known if its_family == family]:
        return f"of {family} it knows {', '.join(sizes)}:"
    like = nearest(family, (its_family for _, its_family, its_size in known if its_size == size))
    return f"did you mean 'ml.{like}.{size}'?" if like else ""
