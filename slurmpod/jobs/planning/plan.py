"""A training and its nodes -> its plan."""

from __future__ import annotations

import math
from collections.abc import Mapping

from slurmpod.jobs.allocation import Allocation
from slurmpod.jobs.planning import compute
from slurmpod.jobs.planning.checkpoints import (
    Failures,
    bounds,
    bytes_per_second,
    checkpoint_bytes,
    failures,
)
from slurmpod.jobs.planning.meshes import Fit, Room, fits, least
from slurmpod.jobs.planning.speed import speed_of, utilization
from slurmpod.jobs.planning.training_spec import TrainingSpec
from slurmpod.resolve.resolved import LustreFacts
from slurmpod.value import Value

MIB = 1024**2

ALIKE = 0.05
"""Meshes whose speed differs less are taken to be equally fast: the simpler one comes first."""


class Checkpoints(Value):
    """Checkpoints of a training; `seconds` and `failures` are not known for every file system."""

    bytes: int
    bytes_per_second: float | None
    seconds: float | None
    held: int | None
    failures: Mapping[str, Failures]


class Timed(Value):
    """A mesh that fits, with the hours of the whole training and the share of the peak (MFU).

    Both are None if the speed of the accelerator is unknown.
    """

    fit: Fit
    hours: float | None
    utilization: float | None


class Plan(Value):
    """The plan of a training. `least` is the closest mesh if nothing fits.

    `fits` begins with the best mesh, and `hours` are those of that one, without failures.
    """

    spec: TrainingSpec
    allocation: Allocation
    room: Room
    fits: tuple[Timed, ...]
    least: Fit | None
    hours: float | None
    checkpoints: Checkpoints

    def wall_hours(self, loss: Failures) -> float | None:
        """Return the hours with failures; None where they are unknown, or it never ends."""
        if self.hours is None or not loss.efficiency:
            return None
        return self.hours / loss.efficiency


def plan_for(spec: TrainingSpec, allocation: Allocation, lustre: LustreFacts | None) -> Plan:
    """Return the plan of a training on these nodes, with checkpoints on this file system."""
    room = room_of(allocation)
    shape = (spec.model, room, spec.sequence, spec.batch)
    found = _timed(spec, allocation, fits(*shape))
    return Plan(
        spec=spec,
        allocation=allocation,
        room=room,
        fits=found,
        least=least(*shape),
        hours=found[0].hours if found else None,
        checkpoints=_checkpoints(spec, allocation.nodes, lustre),
    )


def _timed(spec: TrainingSpec, allocation: Allocation, found: list[Fit]) -> tuple[Timed, ...]:
    """Return the meshes that fit, the fastest first, keeping the order of equally fast ones."""
    speed = None if spec.utilization else speed_of(allocation)
    if speed is None:
        share = spec.utilization or compute.UTILIZATION
        hours = _hours_at(share, spec, allocation)
        return tuple(Timed(each, hours, None if hours is None else share) for each in found)
    shares = {each: utilization(spec.model, each, speed) for each in found}
    found.sort(key=lambda each: round(math.log(shares[each], 1 - ALIKE)))
    return tuple(
        Timed(each, _hours_at(shares[each], spec, allocation), shares[each]) for each in found
    )


def _hours_at(share: float, spec: TrainingSpec, allocation: Allocation) -> float | None:
    facts = allocation.facts
    hours = compute.accelerator_hours(
        spec.model, spec.tokens, spec.sequence, facts.accelerator, share
    )
    return None if hours is None else hours / (allocation.nodes * facts.accelerator_count)


def room_of(allocation: Allocation) -> Room:
    """Return the accelerators of all nodes: GPUs, or NeuronCores with their share of a chip."""
    facts = allocation.facts
    memory = facts.accelerator_memory_mib * MIB * facts.accelerator_count / allocation.processes
    return Room(allocation.nodes * allocation.processes, allocation.processes, memory)


def _checkpoints(spec: TrainingSpec, nodes: int, lustre: LustreFacts | None) -> Checkpoints:
    size = checkpoint_bytes(spec.model)
    rate = bytes_per_second(lustre, nodes) if lustre else None
    seconds = size / rate if rate else None
    rates = bounds(spec.node_mtbf_hours).items() if seconds else ()
    capacity = lustre.capacity_gib if lustre and not lustre.settings.existing else None
    return Checkpoints(
        bytes=size,
        bytes_per_second=rate,
        seconds=seconds,
        held=capacity * 1024**3 // size if capacity else None,
        failures={name: failures(mtbf, nodes, seconds or 0) for name, mtbf in rates},
    )
