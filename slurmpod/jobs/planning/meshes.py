"""Which meshes fit a cluster: every way to share a model and a batch among its accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.jobs.planning.memory import USABLE, Load, Memory, Mesh, memory_of
from slurmpod.jobs.planning.models import Model
from slurmpod.value import Value

MOST_AT_ONCE = 64
"""Sequences of a micro batch beyond which accelerators are no better used."""

MOST_STAGES = 16
"""Stages of a pipeline that are considered: published runs have at most 16 (Llama 3 405B)."""


class Room(Value):
    """The accelerators of a job: `memory` is that of one, in bytes."""

    accelerators: int
    of_node: int
    memory: float

    @property
    def usable(self) -> float:
        """What a plan may fill of the memory of one."""
        return self.memory * USABLE


class Fit(Value):
    """A mesh with the largest micro batch that fits."""

    mesh: Mesh
    load: Load
    memory: Memory

    @property
    def idle(self) -> float:
        """Share of the time in which a stage of the pipeline waits (Narayanan et al. 2021)."""
        stages = self.mesh.pipeline - 1
        return stages / (self.load.accumulation + stages)


def fits(model: Model, room: Room, sequence: int, batch: int) -> list[Fit]:
    """Return what fits, the simplest first: few stages, few parts of a layer, few shards.

    Of two that share alike, the one without checkpointing of activations comes first: it computes a
    third less.
    """
    found = [
        fit
        for mesh in meshes(model, room)
        for is_checkpointed in (False, True)
        if (fit := _largest(model, room, mesh, sequence, batch, is_checkpointed))
    ]
    return sorted(found, key=_simplicity)


def least(model: Model, room: Room, sequence: int, batch: int) -> Fit | None:
    """Return what needs the least memory, whether it fits or not; None if none shares the batch."""
    candidates = [
        Fit(mesh, load, memory_of(model, mesh, load))
        for mesh in meshes(model, room)
        for load in list(_loads(mesh, sequence, batch, is_checkpointed=True))[-1:]
    ]
    return min(candidates, key=lambda each: each.memory.total, default=None)


def meshes(model: Model, room: Room) -> Iterator[Mesh]:
    """Yield each mesh: parts of a layer stay in a node, stages have the same number of layers."""
    for tensor in _divisors(room.of_node):
        if model.heads % tensor or model.kv_heads % tensor:
            continue
        for pipeline in _divisors(room.accelerators // tensor):
            if pipeline > MOST_STAGES or model.layers % pipeline:
                continue
            rest = room.accelerators // tensor // pipeline
            yield from (Mesh(rest // shard, shard, tensor, pipeline) for shard in _divisors(rest))


def _largest(
    model: Model, room: Room, mesh: Mesh, sequence: int, batch: int, is_checkpointed: bool
) -> Fit | None:
    for load in _loads(mesh, sequence, batch, is_checkpointed=is_checkpointed):
        memory = memory_of(model, mesh, load)
        if memory.total <= room.usable:
            return Fit(mesh, load, memory)
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


def _simplicity(fit: Fit) -> tuple[int, int, bool, int]:
    return fit.mesh.pipeline, fit.mesh.tensor, fit.load.is_checkpointed, fit.mesh.shard


def _divisors(number: int) -> list[int]:
    small = [each for each in range(1, int(number**0.5) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})
