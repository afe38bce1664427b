"""`ddp`: the smallest data-parallel training, held against one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from slurmpod.jobs.recipes.recipe import (
    PYTORCH,
    SHARED_FOLDER,
    WITHOUT_PYTORCH,
    Fraction,
    Mistake,
    Parameters,
    Place,
    Recipe,
)


class DdpParameters(Parameters):
    """The training's numbers."""

    steps: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """Steps of the optimizer."""

    samples_per_process: Annotated[int, Field(ge=1, le=100_000)] = 8
    """Samples that a process takes in each step: with more processes the batch is larger."""

    width: Annotated[int, Field(ge=1, le=65_536)] = 128
    """Width of the model's layers."""

    learning_rate: Annotated[Fraction, Field(ge=0, le=10)] = 0.05
    """Learning rate of plain gradient descent."""

    tolerance: Annotated[Fraction, Field(ge=0, le=1)] = 1e-5
    """Largest difference between a loss and that of one process, as a share of the loss."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the device, and all numbers."""
        return ("--device", place.device, *super().arguments(place))

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse to compare one process with itself."""
        if place.processes == 1:
            yield Mistake(
                "samples_per_process",
                "the job has one process, which shares nothing",
                "give the job more nodes, or nodes with several accelerators",
            )


RECIPE = Recipe(
    "ddp",
    "the smallest data-parallel training: its losses must equal those of one process",
    (SHARED_FOLDER, PYTORCH),
    program="check_ddp.py",
    scripts=("measurement.sbatch", "step.sh"),
    shared=("processes.py",),
    parameters=DdpParameters,
    unsuitable=WITHOUT_PYTORCH,
    more="""\
The first process also trains alone on all samples. The job fails at the first step whose loss
differs, for example because gradients get lost. Start your own data-parallel training from
`check_ddp.py`.""",
)
