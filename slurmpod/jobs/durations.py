"""Durations as Slurm writes them."""

from __future__ import annotations

import re

DURATION = re.compile(
    r"(?:([0-9]{1,6})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?", re.ASCII
)


def minutes(text: str) -> float | None:
    """Return the minutes of `--time`; None for no limit, and for what Slurm would refuse.

    `90`, `90:00`, `1:30:00`, `1-0`, `1-0:30` and `1-0:30:00` are understood (sbatch(1), --time).
    """
    match = DURATION.fullmatch(text)
    if not match or text == "0":
        return None
    days, *rest = match.groups()
    first, second, third = (int(part or 0) for part in rest)
    if days is not None:
        return int(days) * 1440 + first * 60 + second + third / 60
    if rest[2] is not None:
        return first * 60 + second + third / 60
    return first + second / 60
