"""What a training reports after a step, in whichever format."""

from __future__ import annotations

import math

from slurmpod.value import Value

SAVING, HANG = "saving", "hang"


class Report(Value):
    """What is known after a step; `samples` are all that were seen, `at` is in Unix seconds.

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
    """Return the number of a text; None where it is none, or not finite."""
    try:
        found = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return found if math.isfinite(found) else None
