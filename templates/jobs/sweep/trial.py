"""One trial of the sweep: put yours here."""

from __future__ import annotations


def trial(values: dict[str, float | str]) -> float:
    """Return a score for some values, such as the loss of a training with them.

    Raises if it fails; the trial then has no result, and the task continues with others.
    """
    rate, width = float(values["learning_rate"]), float(values["width"])
    return (rate - 0.01) ** 2 + 1 / width
