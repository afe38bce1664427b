"""Whether a text could be the name of an instance type at all.

Source: EC2 instance types guide, "Instance type naming conventions": a family of letters with the
number of its generation and attributes, a dot, and a size of EC2's vocabulary.
"""

from __future__ import annotations

import re

FAMILY = re.compile(r"[a-z]{1,4}[0-9]{1,2}[a-z0-9]*(-[a-z0-9]+)*")

SIZES = frozenset(
    {"nano", "micro", "small", "medium", "large", "xlarge"}
    | {
        f"{multiple}xlarge"
        for multiple in (
            2,
            3,
            4,
            6,
            8,
            9,
            10,
            12,
            16,
            18,
            24,
            32,
            36,
            48,
            56,
            64,
            96,
            112,
            224,
            480,
        )
    }
)
"""All that EC2 has in its families, but for metal (EC2 API reference, RunInstances)."""


def is_plausible(name: str) -> bool:
    """Tell whether `ml.<family>.<size>` is composed like the types of EC2."""
    _, family, size = name.split(".")
    return bool(FAMILY.fullmatch(family)) and size in SIZES
