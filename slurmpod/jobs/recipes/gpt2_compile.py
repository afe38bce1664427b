"""`gpt2-compile`: GPT-2 as it is beside GPT-2 compiled, in one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.jobs.planning.compute import scaled_rate
from slurmpod.jobs.recipes.recipe import (
    PYTORCH,
    SHARED_FOLDER,
    WITHOUT_BFLOAT16,
    WITHOUT_PYTORCH,
    Fraction,
    Mistake,
    Parameters,
    Place,
    Recipe,
    unshared_width,
)

RATE, RATE_BATCH = 5e-5, 32
"""The learning rate of AWS's examples of GPT-2, and the batch for which it is meant: 5e-5 / 32 for
each sample of the global batch (SageMaker Training Compiler, "PyTorch GPT-2 on multiple nodes")."""


class CompileParameters(Parameters):
    """The training's numbers, by default those of GPT-2 with 124 million parameters."""

    batch_per_process: Annotated[int, Field(ge=1, le=100_000)] = 10
    """Samples that a process takes in each step."""

    steps: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """Steps that are measured, of each training."""

    warm_up_steps: Annotated[int, Field(ge=1, le=10_000)] = 5
    """Steps before that, in which the compiler works."""

    samples: Annotated[int, Field(ge=1, le=10**9)] = 67_349
    """Samples of an epoch (67349: those of SST-2, which AWS's example has)."""

    layers: Annotated[int, Field(ge=1, le=1000)] = 12
    """Layers of the model."""

    width: Annotated[int, Field(ge=1, le=65_536)] = 768
    """Width of the model."""

    heads: Annotated[int, Field(ge=1, le=1024)] = 12
    """Heads of the attention: they share the width."""

    vocabulary: Annotated[int, Field(ge=2, le=1_000_000)] = 50_257
    """Size of the vocabulary."""

    block: Annotated[int, Field(ge=1, le=1_048_576)] = 512
    """Tokens of a sample."""

    backend: Literal["inductor", "aot_eager"] = "inductor"
    """The compiler. `inductor` needs a C++ compiler and the headers of Python on the nodes;
    `aot_eager` only traces, with little gain."""

    tolerance: Annotated[Fraction, Field(ge=0, le=1)] = 0.01
    """Largest difference between the losses of the two trainings, as a share of the loss."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the device, the learning rate for this many processes, and all numbers."""
        rate = scaled_rate(RATE, RATE_BATCH, self.batch_per_process * place.processes)
        half = "bfloat16"
        if place.device == "cpu":
            half = "none"
        elif place.allocation.facts.accelerator in WITHOUT_BFLOAT16:
            half = "float16"
        computed = ("--device", place.device, "--half", half, "--learning-rate", f"{rate:.6g}")
        return (*computed, *super().arguments(place))

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse heads of which each would have another width."""
        del place
        yield from unshared_width(self.width, self.heads)


RECIPE = Recipe(
    "gpt2-compile",
    "GPT-2 trained with and without torch.compile, on synthetic texts, to measure its gain",
    (SHARED_FOLDER, PYTORCH, "a C++ compiler and Python.h, for the backend inductor"),
    program="bench_compile.py",
    scripts=("measurement.sbatch", "step.sh"),
    shared=("processes.py",),
    parameters=CompileParameters,
    unsuitable=WITHOUT_PYTORCH,
    more="""\
It computes with bfloat16; on GPUs without bfloat16 (T4), where PyTorch would compile nothing, with
float16 and scaled losses; and on CPUs with 32 bits. The learning rate is `5e-5 / 32 x global
batch`: 6.25e-5 for 40 samples, 1.25e-4 for 80. `gpt2-JOB.json` and `gpt2-JOB.prom` have
train_runtime, train_samples_per_second, train_steps_per_second, loss, epoch and learning_rate of
both trainings, and the time of the first steps, which includes compiling. The job fails if the
losses of the two diverge. [On one H200](benchmarks.md#on-one-gpu) the compiled training was 2.0
times as fast with 32 samples of 1,024 tokens, and slower with the defaults, which are too little
work for such a GPU: measure with your own batch.""",
)
