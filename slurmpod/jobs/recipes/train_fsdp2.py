"""`train-fsdp2`: a training with FSDP2 that may be cut off anywhere and goes on."""

from __future__ import annotations

from slurmpod.jobs.recipes.recipe import (
    PYTORCH,
    SHARED_FOLDER,
    WITHOUT_PYTORCH,
    Parameters,
    Place,
    Recipe,
)
from slurmpod.jobs.recipes.trained import SAVING


class TrainingParameters(Parameters):
    """Its numbers stand behind the script's name when it is submitted."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the device, and where checkpoints are kept."""
        return ("--device", place.device, "--checkpoints", "checkpoints")


RECIPE = Recipe(
    "train-fsdp2",
    "a PyTorch training with FSDP2 and checkpoints, for your model and data in model.py",
    (SHARED_FOLDER, PYTORCH),
    program="train.py",
    shared=(*SAVING, "model.py"),
    parameters=TrainingParameters,
    unsuitable=WITHOUT_PYTORCH,
    more="""\
Accelerators compute with 16 bits (bfloat16); weights, gradients, and the optimizer's state have 32
bits. A training can resume from checkpoints that were written with 32 bits only.""",
)
