"""What trainings have in common that save while they run: programs, and what their users choose."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from slurmpod.jobs.recipes.recipe import Fraction, Parameters

SAVING = (
    "checkpoints.py",
    "lock.py",
    "notice.py",
    "processes.py",
    "saving.py",
    "training.py",
)
"""The shared programs that they need for it."""

Steps = Annotated[int, Field(ge=1, le=100_000_000)]
SaveEvery = Annotated[int, Field(ge=1, le=1_000_000)]
Rate = Annotated[Fraction, Field(ge=0, le=10)]
Warmup = Annotated[int, Field(ge=0, le=1_000_000)]


class Trained(Parameters):
    """How long a training is, how fast it learns, and when it saves."""

    steps: Steps = 1000
    """Steps of the optimizer."""

    learning_rate: Rate = 3e-4
    """Highest learning rate of AdamW."""

    save_every: SaveEvery = 100
    """Steps from one checkpoint to the next."""

    save_before_end: Annotated[int, Field(ge=0, le=86_400)] = 300
    """Seconds before the time limit at which one more checkpoint is written, and the job requeued;
    at most a quarter of the limit."""

    keep: Annotated[int, Field(ge=1, le=1000)] = 3
    """Number of checkpoints to keep."""


class WarmedUp(Trained):
    """A training whose learning rate rises for a number of steps."""

    warmup: Warmup = 100
    """Steps in which the learning rate rises."""
