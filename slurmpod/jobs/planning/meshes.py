"""Which meshes fit a cluster: every way to share a model and a batch among its accelerators."""

from __future__ import annotations

import math
from collections.abc import Iterator

from slurmpod.jobs.planning.memory import USABLE, Load, Memory, Mesh, memory_of
from slurmpod.jobs.planning.models import Model
from slurmpod.value import Value

MOST_AT_ONCE = 64
"""Sequences of a micro batch beyond which accelerators are no better used."""

MOST_STAGES = 16
"""Stages of a pipeline that are considered: published runs have at most 16 (Llama 3 405B)."""


LEAST_OF_CONTEXT = 8192
"""Tokens of a sequence's part below which dividing it is not considered: Llama 3 405B began with it
at 131,072 tokens in 16 parts (arXiv 2407.21783, table 4)."""


class Room(Value):
    """The accelerators of a job: `memory` is that of one, in bytes."""

    accelerators: int
    of_node: int
    memory: float

    @property
    def usable(self) -> float:
        """The usable memory of one accelerator."""
        return self.memory * USABLE


class Fit(Value):
    """A mesh with the largest micro batch that fits.

    `idle` is the share of the time in which a stage of the pipeline waits for the others.
    """

    mesh: Mesh
    load: Load
    memory: Memory
    idle: float


def fit_of(model: Model, mesh: Mesh, load: Load) -> Fit:
    """Return the plan of a mesh and a load, whether it fits or not.

    Stages wait as in the interleaved schedule (Narayanan et al. 2021, arXiv 2104.04473, 2.2).
    """
    waiting = (mesh.pipeline - 1) / mesh.chunks_of_stage(model)
    idle = waiting / (load.accumulation + waiting)
    return Fit(mesh, load, memory_of(model, mesh, load), idle)


def fits(model: Model, room: Room, sequence: int, batch: int) -> list[Fit]:
    """Return the meshes that fit, the simplest first: few stages, few parts of a layer, few shards.

    Of two that share alike, the one without checkpointing of activations comes first: it computes a
    third less.
    """
    found = [
        fit
        for mesh in meshes(model, room, sequence)
        for is_checkpointed in (False, True)
        if (fit := _largest(model, room, mesh, sequence, batch, is_checkpointed))
    ]
    return sorted(found, key=_simplicity)


def least(model: Model, room: Room, sequence: int, batch: int) -> Fit | None:
    """Return the mesh with the least memory, fitting or not; None if none divides the batch."""
    candidates = [
        fit_of(model, mesh, load)
        for mesh in meshes(model, room, sequence)
        for load in list(_loads(mesh, sequence, batch, is_checkpointed=True))[-1:]
    ]
    return min(candidates, key=lambda each: each.memory.total, default=None)


def meshes(model: Model, room: Room, sequence: int) -> Iterator[Mesh]:
    """Yield each mesh: parts of a layer stay in a node, and all stages have layers."""
    for tensor in _divisors(room.of_node):
        if model.heads % tensor or model.kv_heads % tensor:
            continue
        for pipeline in _divisors(room.accelerators // tensor):
            if pipeline > MOST_STAGES or not _are_all_needed(model, pipeline):
                continue
            for context in _contexts(room.accelerators // tensor // pipeline, sequence):
                rest = room.accelerators // tensor // pipeline // context
                for shard in _divisors(rest):
                    parts = math.gcd(model.experts.count, shard) if model.experts else 1
                    yield Mesh(rest // shard, shard, tensor, pipeline, context, parts)


def _are_all_needed(model: Model, stages: int) -> bool:
    """Return whether fewer stages would have more layers each: 10 layers never need 9 stages."""
    return stages == 1 or -(-model.layers // stages) < -(-model.layers // (stages - 1))


def _contexts(most: int, sequence: int) -> list[int]:
    """Return the possible numbers of parts of a sequence."""
    parts = _divisors(most)
    return [each for each in parts if each == 1 or sequence / each >= LEAST_OF_CONTEXT]


def _largest(
    model: Model, room: Room, mesh: Mesh, sequence: int, batch: int, is_checkpointed: bool
) -> Fit | None:
    for load in _loads(mesh, sequence, batch, is_checkpointed=is_checkpointed):
        fit = fit_of(model, mesh, load)
        if fit.memory.total <= room.usable:
            return fit
    return None


def _loads(mesh: Mesh, sequence: int, batch: int, *, is_checkpointed: bool) -> Iterator[Load]:
    """Yield how an accelerator may take its share of a batch, the most at once first.

    A pipeline is given at least as many micro batches as it has stages.
    """
    share, rest = divmod(batch, mesh.data_parallel)
    for micro in reversed(_divisors(share) if not rest else []):
        accumulation = share // micro
        if micro <= MOST_AT_ONCE and accumulation >= mesh.pipeline:
            yield Load(sequence, micro, accumulation, is_checkpointed)


def _simplicity(fit: Fit) -> tuple[int, int, int, bool, int]:
    mesh = fit.mesh
    return mesh.pipeline, mesh.context, mesh.tensor, fit.load.is_checkpointed, mesh.shard


def _divisors(number: int) -> list[int]:
    small = [each for each in range(1, int(number**0.5) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})
