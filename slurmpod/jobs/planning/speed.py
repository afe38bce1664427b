"""Duration of a training step on a mesh: computation, communication and waiting.

Each share follows from the mesh. One number, the efficiency of an accelerator, is fitted to
published runs, which docs/jobs.md compares with what this computes.
"""

from __future__ import annotations

from types import MappingProxyType

from slurmpod.jobs.allocation import Allocation
from slurmpod.jobs.planning.compute import PEAK_TFLOPS, operations
from slurmpod.jobs.planning.memory import WEIGHT_BYTES, Load, Mesh
from slurmpod.jobs.planning.meshes import Fit
from slurmpod.jobs.planning.models import Model
from slurmpod.value import Value

EFFICIENCY = MappingProxyType(
    {"A100": 0.66, "H100": 0.49, "H200": 0.49, "B200": 0.49, "B300": 0.49, "GB200": 0.49}
)
"""Share of the peak that an accelerator has while it only computes, what it computes again for
checkpointing included. Fitted to published runs on A100 and H100; the newer ones are taken to be
like H100, which no run here shows."""

LINK_BYTES_PER_SECOND = MappingProxyType(
    {"A100": 300e9, "H100": 450e9, "H200": 450e9, "B200": 900e9, "B300": 900e9, "GB200": 900e9}
)
"""What an accelerator sends to others of its node in a second: half of NVLink's sum of both ways
(data sheets of NVIDIA)."""

LINK_SHARE = 0.75
"""Share of a link that collectives of large messages have (nccl-tests on NVLink and EFA: 0.7 to
0.9)."""

RECOMPUTED = 4 / 3
"""A forward pass is a third of a step, and is done twice with checkpointing of activations."""

REDUCTIONS_OF_LAYER = 4
"""All-reduces of activations in a layer whose parts lie on several accelerators: two forward, two
backward (Megatron-LM, arXiv 1909.08053)."""

GATHERS = 3
"""Passes of all weights for each micro batch under FSDP: gathered forward and backward, and
gradients reduced (arXiv 2304.11277)."""

DISPATCHES_OF_LAYER = 4
"""Exchanges of tokens with their experts in a layer: to them and back, forward and backward."""


class Speed(Value):
    """One accelerator: operations and bytes in a second, inside its node and beyond."""

    peak: float
    efficiency: float
    inside: float
    beyond: float
    of_node: int

    def collective(self, members: int, stride: int) -> float:
        """Return the bytes per second of a collective among members that lie `stride` apart.

        Rings go through all members of a node before they leave it, each by another network card:
        what they have together counts, up to what links inside the node carry.
        """
        if members * stride <= self.of_node:
            return LINK_SHARE * self.inside
        of_node = max(1, self.of_node // stride)
        return LINK_SHARE * min(self.inside, self.beyond * of_node)

    def point_to_point(self, members: int, stride: int) -> float:
        """Return the bytes per second from one to another, each with its own way out of a node."""
        is_inside = members * stride <= self.of_node
        return LINK_SHARE * (self.inside if is_inside else self.beyond)


class StepTime(Value):
    """Seconds of one step: computing, exchange that nothing hides, and waiting for a stage."""

    computing: float
    exchange: float
    waiting: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.computing + self.exchange + self.waiting


def speed_of(allocation: Allocation) -> Speed | None:
    """Return the speed of these nodes; None where it is not known well enough."""
    facts = allocation.facts
    name = facts.accelerator
    is_linked = allocation.nodes == 1 or facts.network_gigabits
    if name not in EFFICIENCY or not is_linked:
        return None
    return Speed(
        peak=PEAK_TFLOPS[name] * 1e12,
        efficiency=EFFICIENCY[name],
        inside=LINK_BYTES_PER_SECOND[name],
        beyond=facts.network_gigabits * 1e9 / 8 / facts.accelerator_count,
        of_node=facts.accelerator_count,
    )


def step_time(model: Model, fit: Fit, speed: Speed) -> StepTime:
    """Return the time of one step of the optimizer.

    FSDP's passes, gradients and parts of a sequence travel while others compute: they cost what
    they take longer than that. Parts of a layer and experts wait for theirs.
    """
    mesh, load = fit.mesh, fit.load
    uneven = mesh.layers_of_stage(model) * mesh.pipeline / model.layers
    done = _operations_of_step(model, fit) * uneven * _again(load)
    computing = done / (speed.peak * speed.efficiency)
    hidden = _sharding_seconds(model, mesh, load, speed) + _sequence_seconds(
        model, mesh, load, speed
    )
    exchange = max(0.0, hidden - computing)
    exchange += _layer_seconds(model, mesh, load, speed)
    exchange += _expert_seconds(model, mesh, load, speed)
    busy = computing + exchange
    return StepTime(computing, exchange, busy * fit.idle / (1 - fit.idle))


def utilization(model: Model, fit: Fit, speed: Speed) -> float:
    """Return the share of the peak that goes into the training (MFU)."""
    return _operations_of_step(model, fit) / speed.peak / step_time(model, fit, speed).total


def _operations_of_step(model: Model, fit: Fit) -> float:
    """Return the operations of one accelerator for a step, each counted once."""
    mesh, load = fit.mesh, fit.load
    tokens = load.micro * load.accumulation * mesh.data_parallel * load.sequence
    return operations(model, tokens, load.sequence) / mesh.accelerators


def _again(load: Load) -> float:
    return RECOMPUTED if load.is_checkpointed else 1


def _sharding_seconds(model: Model, mesh: Mesh, load: Load, speed: Speed) -> float:
    """Return how long weights travel to and gradients from the shards, and among replicas."""
    layers = mesh.layers_of_stage(model)
    stage = model.parameters * layers / model.layers / mesh.tensor * WEIGHT_BYTES
    if mesh.experts > 1:  # experts stay where they are
        stage = model.parameters_of_layer(mesh.experts) * layers / mesh.tensor * WEIGHT_BYTES
    holders = mesh.holders
    passes = GATHERS * load.accumulation if mesh.pipeline == 1 else GATHERS
    seconds = passes * stage * _ring(holders) / speed.collective(holders, mesh.tensor)
    among_replicas = speed.collective(mesh.replicate, holders * mesh.tensor)
    return seconds + 2 * stage / holders * _ring(mesh.replicate) / among_replicas


def _sequence_seconds(model: Model, mesh: Mesh, load: Load, speed: Speed) -> float:
    """Return how long keys and values go around the parts of a sequence: forward, twice back."""
    if mesh.context == 1:
        return 0.0
    width = 2 * model.attention_width * model.kv_heads / model.heads / mesh.tensor
    part = load.sequence / mesh.context * load.micro * width * WEIGHT_BYTES
    rounds = 3 * (mesh.context - 1) * mesh.layers_of_stage(model) * load.accumulation
    return rounds * part / speed.point_to_point(mesh.context, mesh.tensor)


def _layer_seconds(model: Model, mesh: Mesh, load: Load, speed: Speed) -> float:
    """Return how long the parts of layers wait for each other's activations."""
    reductions = (
        REDUCTIONS_OF_LAYER * _again(load) * mesh.layers_of_stage(model) * load.accumulation
    )
    sent = 2 * _activation_bytes(model, mesh, load) * _ring(mesh.tensor)
    return reductions * sent / speed.collective(mesh.tensor, 1)


def _expert_seconds(model: Model, mesh: Mesh, load: Load, speed: Speed) -> float:
    """Return how long tokens travel to their experts and back."""
    if model.experts is None:
        return 0.0
    exchanges = DISPATCHES_OF_LAYER * _again(load) * mesh.layers_of_stage(model) * load.accumulation
    sent = model.experts.active * _activation_bytes(model, mesh, load) / mesh.tensor
    return exchanges * sent * _ring(mesh.experts) / speed.point_to_point(mesh.experts, mesh.tensor)


def _activation_bytes(model: Model, mesh: Mesh, load: Load) -> float:
    return load.sequence / mesh.context * load.micro * model.width * WEIGHT_BYTES


def _ring(parts: int) -> float:
    """Return the share of a message that each of so many sends to the others."""
    return (parts - 1) / parts
