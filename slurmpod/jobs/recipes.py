"""The jobs that `slurmpod job render` makes: what each is for, and the files that it brings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slurmpod.bundle.templates import FOLDER

JOBS = "jobs"
"""The folder of job templates; programs of a recipe lie below, in a folder of its name."""

WITHOUT_FSDP2 = frozenset({"Trainium"})
"""Accelerators that PyTorch does not know as devices: its native backend for Neuron (TorchNeuron,
"TorchNeuron: Native PyTorch on AWS Neuron") supports Trainium2 and later."""


@dataclass(frozen=True)
class Recipe:
    """One kind of job. `program` is what each process runs; "" where its user names one."""

    name: str
    summary: str
    program: str = ""
    unsuitable: frozenset[str] = frozenset()

    @property
    def folder(self) -> Path:
        """Where its programs lie, which are taken as they are."""
        return FOLDER / JOBS / self.name


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "train-fsdp2",
            "PyTorch training with FSDP2 and checkpoints, to be filled with a model and data",
            program="train.py",
            unsuitable=WITHOUT_FSDP2,
        ),
        Recipe("own-program", "any program that torchrun starts, and that keeps checkpoints"),
    )
}
