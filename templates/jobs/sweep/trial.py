"""One trial of the sweep: put yours here."""

from __future__ import annotations


def trial(values: dict[str, float | str]) -> float:
    """Return how good some values are, such as the loss of a training with them.

    Raises when it fails; the trial then has no result, and others are made.
    """
    rate, width = float(values["learning_rate"]), float(values["width"])
    return (rate - 0.01) ** 2 + 1 / width
