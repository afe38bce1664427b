"""`bert-pipeline`: BERT in pipelines of stages, as AWS's example for SMP 1 trains it.

Source of the defaults: "Train BERT with pipeline parallelism" for version 1 of the SageMaker model
parallelism library (2 partitions, 12 microbatches, interleaved). Version 2 has no pipelines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.jobs.recipes.recipe import (
    PYTORCH,
    SHARED_FOLDER,
    WITHOUT_PYTORCH,
    Fraction,
    Mistake,
    Place,
    Recipe,
    unshared_width,
)
from slurmpod.jobs.recipes.trained import SAVING, Rate, SaveEvery, Steps, Trained


class PipelineParameters(Trained):
    """The pipeline, and the training's numbers."""

    steps: Steps = 7038
    save_every: SaveEvery = 200
    learning_rate: Rate = 1e-4
    """Highest learning rate of AdamW. The 6e-3 of AWS's example are for LAMB and large batches."""

    partitions: Annotated[int, Field(ge=2, le=1024)] = 2
    """Processes of a pipeline: each has its share of the layers. The processes of the job form as
    many pipelines as they fill."""

    stages_per_partition: Annotated[int, Field(ge=2, le=64)] = 2
    """Stages of a process, which take turns: with more of them it waits less, and sends more."""

    microbatches: Annotated[int, Field(ge=1, le=10_000)] = 12
    """Parts of a batch that are in flight at once."""

    batch: Annotated[int, Field(ge=1, le=1_000_000)] = 48
    """Samples that one pipeline takes in each step."""

    sequence: Annotated[int, Field(ge=2, le=65_536)] = 128
    """Tokens of a sample."""

    warm_up_share: Annotated[Fraction, Field(ge=0, le=1)] = 0.2843
    """Share of the steps in which the learning rate rises."""

    seed: Annotated[int, Field(ge=0, le=2**31)] = 12_439
    """Seed of the first weights and of dropout."""

    layers: Annotated[int, Field(ge=1, le=10_000)] = 24
    """Layers of the model (24: BERT-large), shared by all stages."""

    width: Annotated[int, Field(ge=1, le=65_536)] = 1024
    """Width of the model."""

    heads: Annotated[int, Field(ge=1, le=1024)] = 16
    """Heads of the attention: they share the width."""

    vocabulary: Annotated[int, Field(ge=3, le=1_000_000)] = 30_522
    """Size of the vocabulary."""

    dropout: Annotated[Fraction, Field(ge=0, le=0.9)] = 0.1
    """Share of values that are dropped."""

    precision: Literal["float32", "float64"] = "float32"
    """Precision of the computation; `float64` is for comparisons."""

    tolerance: Annotated[Fraction, Field(ge=0, le=1)] = 1e-3
    """Largest difference between loss and gradients and those of one process, as a share of the
    largest value. With `float64` 1e-9 is enough."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the device, where checkpoints are kept, and all numbers."""
        given = ("--device", place.device, "--checkpoints", "checkpoints")
        return (*given, *super().arguments(place))

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse processes, batches and layers that cannot be shared."""
        kinds = "GPUs" if place.device == "cuda" else "processes"
        if place.processes % self.partitions:
            message = f"{place.processes} {kinds} cannot be pipelines of {self.partitions}"
            fix = f"choose a number that divides {place.processes}, or give the job other nodes"
            yield Mistake("partitions", message, fix)
        if self.batch % self.microbatches:
            message = f"a batch of {self.batch} samples has no {self.microbatches} equal parts"
            yield Mistake("batch", message, f"choose a multiple of {self.microbatches}")
        if self.microbatches % max(1, self.microbatches // self.partitions):
            message = (
                f"{self.microbatches} microbatches cannot be interleaved over"
                f" {self.partitions} partitions"
            )
            yield Mistake("microbatches", message, f"choose a multiple of {self.partitions}")
        stages = self.partitions * self.stages_per_partition
        if self.layers < stages:
            message = f"{self.layers} layers are too few for {stages} stages"
            yield Mistake("layers", message, f"choose {stages} or more, or fewer stages")
        yield from unshared_width(self.width, self.heads)


RECIPE = Recipe(
    "bert-pipeline",
    "BERT trained in pipelines of stages with interleaved microbatches, on synthetic texts",
    (SHARED_FOLDER, PYTORCH, "memory for the whole model, until it was compared once"),
    program="train_bert.py",
    shared=SAVING,
    parameters=PipelineParameters,
    unsuitable=WITHOUT_PYTORCH,
    more="""\
Two partitions with two stages each pass on 12 microbatches, as in AWS's example for version 1 of
its model parallelism library; version 2 has no pipelines. With 8 GPUs there are 4 pipelines, which
share their gradients. The neighbours of a pipeline are on one node if possible.

Before its first step, each process computes its pipeline's batch again alone, with the whole
model and without dropout. The job fails if the loss, or a gradient of its own stages, differs. A
checkpoint names layers, not stages, so training continues with other numbers of partitions, as in
`train-fsdp2`. Put your model and data into `bert.py`: the texts are synthetic, and BERT only learns
to fill in masked tokens. Tested on CPUs, and on one GPU with all stages in one process.""",
)
