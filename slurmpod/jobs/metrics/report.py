"""A training's report of a step, in any format."""

from __future__ import annotations

import math

from slurmpod.value import Value

SAVING, HANG = "saving", "hang"


class Report(Value):
    """The state after a step; `samples` is the total, `at` is in Unix seconds.

    `seconds` is what a step took, `tokens_per_second` those of one accelerator, `mfu` a share.
    `format` is that of another program's line, and empty for ours. `said` is the log's reason for
    the time since the previous report: SAVING, HANG or nothing.
    """

    step: int
    loss: float
    samples: int | None
    at: float | None
    rate: float | None = None
    seconds: float | None = None
    tokens_per_second: float | None = None
    mfu: float | None = None
    format: str = ""
    said: str = ""


def number(text: str | None) -> float | None:
    """Return the number in a text; None if it is not a finite number."""
    try:
        found = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return found if math.isfinite(found) else None
