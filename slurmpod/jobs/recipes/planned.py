"""A plan -> the parameters with which the recipe `pretrain` carries it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slurmpod.jobs.planning.compute import root_scaled_rate
from slurmpod.jobs.planning.meshes import Fit, fit_of
from slurmpod.jobs.planning.plan import Plan
from slurmpod.jobs.recipes.pretrain import RECIPE, TRAINABLE

MOST_WARMUP = 2000
"""Steps in which the learning rate rises, as Llama 2 had it (arXiv 2307.09288), or a tenth."""


class NotCarriedOut(Exception):
    """Why the recipe cannot do what a plan says."""


def parameters_of(plan: Plan) -> Mapping[str, object]:
    """Return the parameters of the best mesh that the recipe has. Raises NotCarriedOut."""
    spec = plan.spec
    if spec.model.name not in TRAINABLE:
        names = ", ".join(TRAINABLE)
        raise NotCarriedOut(f"pretrain does not train {spec.model.name}: it has {names}")
    if plan.allocation.facts.accelerator in RECIPE.unsuitable:
        raise NotCarriedOut(f"pretrain does not run on {plan.allocation.facts.name}")
    fit = _fit(plan)
    mesh, load = fit.mesh, fit.load
    found: dict[str, object] = {
        "model": spec.model.name,
        "replicate": mesh.replicate,
        "shard": mesh.shard,
        "context": mesh.context,
        "tensor": mesh.tensor,
        "sequence": load.sequence,
        "batch": spec.batch,
        "micro_batch": load.micro,
        "activations": "computed-again" if load.is_checkpointed else "kept",
        "steps": spec.steps,
        "warmup": min(MOST_WARMUP, spec.steps // 10),
    }
    if spec.rate:
        found["learning_rate"] = float(
            f"{root_scaled_rate(spec.rate, spec.rate_batch, spec.batch):.6g}"
        )
    if every := _steps_between_checkpoints(plan):
        found["save_every"] = every
    return found


def _fit(plan: Plan) -> Fit:
    """Return the first mesh without a pipeline; its processes have experts of all kinds.

    A plan shares experts among the shards, where less of a layer has to be gathered: so what fits
    with all of them is looked at again. Its pipelines wait less than the recipe's, and gather
    weights once a step: so its times are not those of the recipe's.
    """
    spec = plan.spec
    for timed in plan.fits:
        mesh = replace(timed.fit.mesh, experts=1)
        fit = fit_of(spec.model, mesh, timed.fit.load)
        is_parted = mesh.context > 1 and (spec.model.experts or spec.sequence % (2 * mesh.context))
        if mesh.pipeline == 1 and not is_parted and fit.memory.total <= plan.room.usable:
            return fit
    raise NotCarriedOut(
        "no mesh without a pipeline fits that is one of pretrain, which does not divide"
        " sequences where there are experts: give more nodes, or shorter sequences"
    )


def _steps_between_checkpoints(plan: Plan) -> int:
    """Return how many steps the shortest of the best intervals has; 0 where it is not known."""
    intervals = [each.interval_minutes for each in plan.checkpoints.failures.values()]
    if not intervals or not plan.hours:
        return 0
    return max(1, int(min(intervals) / (plan.hours * 60 / plan.spec.steps)))
