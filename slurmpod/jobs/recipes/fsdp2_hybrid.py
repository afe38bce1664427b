"""`fsdp2-hybrid`: a training over a mesh of replicas, shards and parts of layers.

Where version 2 of the SageMaker model parallelism library (SMP) has a key for something, the
parameter has its name and its range: so an `smp_config.json` is taken as it is. Source: "Core
features of SMP v2" and its reference, in the SageMaker developer guide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slurmpod.jobs.recipes.recipe import (
    PYTORCH,
    SHARED_FOLDER,
    WITHOUT_PYTORCH,
    Fraction,
    Lacking,
    Mistake,
    Place,
    Recipe,
    unshared_width,
)
from slurmpod.jobs.recipes.smp_keys import RENAMED
from slurmpod.jobs.recipes.trained import SAVING, Rate, WarmedUp, Warmup

Degree = Annotated[int, Field(ge=1, le=65_536)]

LACKING: Mapping[str, Lacking] = MappingProxyType(
    {
        "context_parallel_degree": Lacking(
            "with it SMP shares each sample among processes; this recipe's mesh has replicas,"
            " shards and parts of layers alone, and each process takes whole samples",
            "leave it out, as 1 means the same; sm_activation_offloading and a higher"
            " tensor_parallel_degree make room for long samples, and smp2-llama has the key",
        ),
        "expert_parallel_degree": Lacking(
            "with it SMP shares the experts of a layer among processes; this recipe's model has"
            " no experts",
            "leave it out, as 1 means the same; smp2-llama has the key, for mixtral-8x7b",
        ),
    }
)
"""Keys of SMP for techniques that the recipe does not have. Source: "Core features of SMP v2",
"Context parallelism" and "Expert parallelism"."""


class HybridParameters(WarmedUp):
    """The mesh, what is kept for the backward pass, and the training's numbers."""

    renamed: ClassVar[Mapping[str, str]] = RENAMED
    lacking: ClassVar[Mapping[str, Lacking]] = LACKING

    learning_rate: Rate = 3e-3
    warmup: Warmup = 20

    tensor_parallel_degree: Degree = 1
    """Number of parts into which layers are split. Their processes exchange in every layer: keep
    them within a node."""

    hybrid_shard_degree: Annotated[int, Field(ge=0, le=65_536)] = 0
    """Number of processes over which one copy of the model is sharded; the rest are replicas. 0:
    all. 1: no sharding."""

    activation_checkpointing: bool = True
    """Whether blocks keep only their input, and are recomputed in the backward pass."""

    sm_activation_offloading: bool = False
    """Whether these inputs wait in the host's memory."""

    activation_loading_horizon: Annotated[int, Field(ge=1, le=1000)] = 2
    """Number of blocks whose inputs are loaded from there ahead of the backward pass."""

    random_seed: Annotated[int, Field(ge=0, le=2**31)] = 12_345
    """Seed of the first weights and of dropout; the weights are the same on every mesh."""

    precision: Literal["bfloat16", "float32", "float64"] = "bfloat16"
    """Precision of the computation. Weights and their sums have 32 bits with `bfloat16`, too;
    `float64` is for comparisons."""

    batch: Annotated[int, Field(ge=1, le=10_000_000)] = 512
    """Samples of all processes in a step."""

    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """Width of the model."""

    depth: Annotated[int, Field(ge=1, le=1000)] = 4
    """Blocks of the model."""

    heads: Annotated[int, Field(ge=1, le=1024)] = 8
    """Heads of the attention: they share the width, and processes share them."""

    dropout: Annotated[Fraction, Field(ge=0, le=0.9)] = 0.0
    """Share of values that are dropped. Other meshes drop other values."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the mesh that the degrees make of this many processes, and all numbers."""
        shard = self._shard(place)
        replicate = place.processes // (shard * self.tensor_parallel_degree)
        mesh = {"replicate": replicate, "shard": shard, "tensor": self.tensor_parallel_degree}
        kept = {
            "activations": self._activations(),
            "loading-horizon": self.activation_loading_horizon,
            "seed": self.random_seed,
        }
        numbers = {
            name.replace("_", "-"): value
            for name, value in self
            if name not in ("activation_checkpointing", *SMP_KEYS)
        }
        given = {"device": place.device, "checkpoints": "checkpoints", **mesh, **kept, **numbers}
        return tuple(str(word) for name, value in given.items() for word in (f"--{name}", value))

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse a mesh that the processes do not fill, and what does not fit it."""
        yield from self._mesh_mistakes(place)
        if self.sm_activation_offloading and not self.activation_checkpointing:
            message = "only what activation_checkpointing keeps is offloaded"
            yield Mistake("sm_activation_offloading", message, "set activation_checkpointing: true")
        is_written = "activation_loading_horizon" in self.model_fields_set
        if is_written and not self.sm_activation_offloading:
            message = "nothing is loaded, as nothing is offloaded"
            fix = "set sm_activation_offloading: true, or remove it"
            yield Mistake("activation_loading_horizon", message, fix)
        yield from unshared_width(self.width, self.heads)

    def _mesh_mistakes(self, place: Place) -> Iterator[Mistake]:
        tensor, count = self.tensor_parallel_degree, place.processes
        if count % tensor:
            message = f"{count} processes cannot be grouped by {tensor}"
            yield Mistake("tensor_parallel_degree", message, f"choose one of {_divisors(count)}")
            return
        if self.heads % tensor:
            message = f"{self.heads} heads cannot be shared by {tensor} processes"
            fix = f"choose one of {_divisors(self.heads)}, or another number of heads"
            yield Mistake("tensor_parallel_degree", message, fix)
        rest = count // tensor
        if rest % self._shard(place):
            message = f"{rest} processes cannot be grouped by {self.hybrid_shard_degree}"
            if tensor > 1:
                message = f"{count} processes with {tensor} for each layer: {message}"
            yield Mistake("hybrid_shard_degree", message, f"choose 0 or one of {_divisors(rest)}")
        elif self.batch % rest:
            message = f"a batch of {self.batch} samples cannot be shared by {rest} readers"
            yield Mistake("batch", message, f"choose a multiple of {rest}")

    def _shard(self, place: Place) -> int:
        return self.hybrid_shard_degree or place.processes // self.tensor_parallel_degree

    def _activations(self) -> str:
        if self.sm_activation_offloading:
            return "offloaded"
        return "computed-again" if self.activation_checkpointing else "kept"


SMP_KEYS = (
    "tensor_parallel_degree",
    "hybrid_shard_degree",
    "sm_activation_offloading",
    "activation_loading_horizon",
    "random_seed",
)
"""Parameters whose names are SMP's; the program has its own."""


def _divisors(number: int) -> str:
    return ", ".join(str(each) for each in range(1, number + 1) if number % each == 0)


RECIPE = Recipe(
    "fsdp2-hybrid",
    "a training with FSDP2 over replicas, shards and parts of layers, as SMP's configuration says",
    (SHARED_FOLDER, PYTORCH),
    program="train_hybrid.py",
    shared=(*SAVING, "activations.py", "model.py", "spreading.py"),
    parameters=HybridParameters,
    unsuitable=WITHOUT_PYTORCH,
    more="""\
It has hybrid sharding, tensor parallelism, offloaded activations and delayed initialization like
version 2 of the SageMaker model parallelism library (SMP), in PyTorch only, and resumes as
`train-fsdp2` does. Parameters have the names of SMP's keys: `--parameters smp_config.json` takes
SMP's file unchanged. The degrees define a mesh of `processes / (shards x parts)` replicas, of
shards, and of parts of layers, whose processes are neighbours. SMP offloads by default; this recipe
does not.

Each process creates the first values of its own shards, so no process ever has the whole model.
Checkpoints are sharded, and are written in the background while the training continues; another
mesh can resume from them. Model and data are in `model.py`, and the names of the layers that are
split in `mesh.py`. With `float64`, losses equalled those of one process to 1e-6 on the meshes
2 x 2 x 2, 1 x 4 x 1 and 1 x 1 x 2, and after a change of the mesh. The log has the peak of
allocated memory. [On one GPU](benchmarks.md#on-one-gpu), recomputation took an eighth more time and
halved the memory of a training with large batches. Offloading took no time there, and saved memory
only with large batches.""",
)
