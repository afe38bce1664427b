"""`slurmpod job plan`: estimates of a training's memory, time and cost, before you pay for it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.job_plan_file import write_parameters
from slurmpod.cli.output import print_json, say
from slurmpod.jobs.allocation import Allocation, JobRefused, allocation_for
from slurmpod.jobs.planning import compute
from slurmpod.jobs.planning.checkpoints import RESTART_MINUTES, Failures
from slurmpod.jobs.planning.meshes import Fit
from slurmpod.jobs.planning.plan import Plan, Timed, plan_for
from slurmpod.jobs.planning.training_spec import (
    NODES,
    NUMBERS,
    PlanRefused,
    TrainingSpec,
    number,
    spec_of,
)
from slurmpod.problems import ExitCode, counted
from slurmpod.resolve import Resolved

GIB = 1024**3
MOST_SHOWN = 8
"""Meshes in the table; --json has all of them."""

ROUGH = (
    (
        "memory: by formulas, confirmed on one H200 within a tenth; activations are half more or"
        " less with other kernels, and several times as much without FlashAttention, e.g. on T4"
    ),
    (
        "hours: those of a well-tuned program, whose steps take a quarter more or less; an untuned"
        " one takes up to twice as long; whole published runs took 0.5 to 3 times as many hours"
    ),
    "failures: the two published runs differ 3.7 times; new clusters fail more often",
    (
        "checkpoints: their time follows from the throughput that FSx promises to a sole"
        " writer; programs that also keep 16-bit weights write a sixth more, and those that save"
        " in the background lose less"
    ),
)
"""Simplifications of the formulas, and their effect."""


def run(options: argparse.Namespace) -> ExitCode:
    """Print the plan; exit code 1 if nothing fits."""
    resolved = sound_environment(options.file).resolved
    try:
        plan = _plan(options, resolved)
    except PlanRefused as refused:
        for mistake in refused.mistakes:
            say(mistake)
        return ExitCode.USAGE
    if options.json:
        print_json(as_data(plan))
    else:
        sys.stdout.write("\n".join(_text(plan)) + "\n")
    if options.write and plan.fits:
        write_parameters(options, plan)
    return ExitCode.OK if plan.fits else ExitCode.FAILED


def _plan(options: argparse.Namespace, resolved: Resolved) -> Plan:
    """Return the plan. Raises PlanRefused with the mistakes of all options."""
    typed = {name: getattr(options, name.replace("-", "_")) for name in ("model", *NUMBERS)}
    mistakes: list[str] = []
    spec: TrainingSpec | None = None
    allocation: Allocation | None = None
    nodes = number("nodes", NODES, options.nodes, mistakes)
    try:
        spec = spec_of(typed)
    except PlanRefused as refused:
        mistakes += refused.mistakes
    try:
        allocation = _allocation(options, resolved, None if nodes is None else int(nodes))
    except JobRefused as unknown:
        mistakes.append(f"{unknown.message}: {unknown.fix}")
    if mistakes or spec is None or allocation is None:
        raise PlanRefused(mistakes)
    return plan_for(spec, allocation, resolved.lustre[0] if resolved.lustre else None)


def _allocation(options: argparse.Namespace, resolved: Resolved, nodes: int | None) -> Allocation:
    """Return the nodes that the options name. Raises JobRefused."""
    allocation = allocation_for(
        resolved, group=options.group, partition=options.partition, nodes=nodes
    )
    if not allocation.facts.accelerator_memory_mib:
        name = allocation.facts.name
        raise JobRefused(f"{name} has no accelerators", "choose a partition with accelerators")
    return allocation


def as_data(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data; sizes in bytes."""
    spec, facts = plan.spec, plan.allocation.facts
    model = {**asdict(spec.model), "parameters": spec.model.parameters}
    losses = {
        name: {**asdict(each), "wall_hours": plan.wall_hours(each)}
        for name, each in plan.checkpoints.failures.items()
    }
    return {
        "model": model,
        "nodes": plan.allocation.nodes,
        "instance_type": facts.name,
        "partition": plan.allocation.partition,
        "accelerators": asdict(plan.room),
        "meshes": [
            {**_fit_data(each.fit), "hours": each.hours, "utilization": each.utilization}
            for each in plan.fits
        ],
        "least": _fit_data(plan.least) if plan.least else None,
        "steps": spec.steps,
        "tokens": spec.tokens,
        "learning_rates": _rates(spec),
        "hours": plan.hours,
        "node_hours": plan.hours and plan.hours * plan.allocation.nodes,
        "checkpoints": {**asdict(plan.checkpoints), "failures": losses},
        "rough": list(ROUGH),
    }


def _fit_data(fit: Fit) -> dict[str, Any]:
    memory = {**asdict(fit.memory), "total": fit.memory.total}
    load = {name: value for name, value in asdict(fit.load).items() if name != "sequence"}
    return {**asdict(fit.mesh), **load, "idle": fit.idle, "memory": memory}


def _rates(spec: TrainingSpec) -> dict[str, float] | None:
    if not spec.rate:
        return None
    change = (spec.rate, spec.rate_batch, spec.batch)
    return {"linear": compute.scaled_rate(*change), "root": compute.root_scaled_rate(*change)}


def _text(plan: Plan) -> Iterator[str]:
    spec, room = plan.spec, plan.room
    model, nodes = spec.model, counted(plan.allocation.nodes, "node")
    yield (
        f"{model.name}: {model.parameters / 1e9:.2f} billion parameters in {model.layers} layers"
        f" of width {model.width}" + (" (the shape is a guess)" if model.stated else "")
    )
    yield (
        f"{nodes} of {plan.allocation.facts.name} in partition {plan.allocation.partition}:"
        f" {room.accelerators} x {room.memory / GIB:.0f} GiB,"
        f" of which {room.usable / GIB:.0f} are used"
    )
    yield ""
    yield from _meshes_text(plan)
    yield ""
    yield from _length_text(plan)
    yield ""
    yield from _checkpoints_text(plan)
    yield ""
    yield "Accuracy:"
    yield from (f"  {each}" for each in ROUGH)


def _meshes_text(plan: Plan) -> Iterator[str]:
    if plan.fits:
        shown = plan.fits[:MOST_SHOWN]
        yield f"Meshes that fit: {len(plan.fits)}. Best first, with GiB per accelerator:"
    elif plan.least:
        shown = (Timed(plan.least, None, None),)
        yield "Nothing fits. Closest first, with GiB per accelerator:"
    else:
        batch, number = plan.spec.batch, plan.room.accelerators
        yield f"No mesh divides a batch of {batch} sequences among {number} accelerators:"
        yield "  choose a global batch that is a multiple of them, or fewer nodes"
        return
    rows = [_row(each) for each in shown]
    titles = [
        title for title in rows[0] if title not in RARE or any(row[title] != "1" for row in rows)
    ]
    widths = [max(len(title), *(len(row[title]) for row in rows)) for title in titles]
    for cells in (titles, *([row[title] for title in titles] for row in rows)):
        yield "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


RARE = ("context", "experts")
"""Columns that are left out if no mesh uses them."""


def _row(timed: Timed) -> dict[str, str]:
    """Return the cells of a mesh by column title."""
    mesh, load, memory = timed.fit.mesh, timed.fit.load, timed.fit.memory
    parts = asdict(memory)
    titles = ("weights", "gradients", "optimizer", "gathered", "activations")
    hours, share = timed.hours, timed.utilization
    return {
        **{name: str(value) for name, value in asdict(mesh).items()},
        "recompute": "yes" if load.is_checkpointed else "no",
        "micro": str(load.micro),
        "accum": str(load.accumulation),
        "GiB": f"{memory.total / GIB:.1f}",
        **{short: f"{parts[name] / GIB:.1f}" for name, short in zip(titles, SHORT, strict=True)},
        "idle": f"{timed.fit.idle:.0%}",
        "hours": "-" if hours is None else f"{hours:,.1f}",
        "MFU": "-" if share is None else f"{share:.0%}",
    }


SHORT = ("weight", "grad", "optim", "gather", "activ")


def _length_text(plan: Plan) -> Iterator[str]:
    spec = plan.spec
    usual = ", 20 per parameter" if spec.is_usual_length else ""
    yield f"{spec.steps} steps, {spec.tokens / 1e9:,.1f} billion tokens{usual}"
    if rates := _rates(spec):
        yield (
            f"learning rate {rates['linear']:.3g} in proportion to the batch,"
            f" {rates['root']:.3g} by its root (for Adam); warm up over the first steps"
        )
    if plan.hours is None:
        yield f"hours: not known for {plan.allocation.facts.accelerator}"
        return
    node_hours = plan.hours * plan.allocation.nodes
    share = plan.fits[0].utilization
    yield (
        f"{plan.hours:,.1f} hours, {node_hours:,.0f} node-hours,"
        f" at {share:.0%} of the peak with the first of these meshes, and without failures"
    )


def _checkpoints_text(plan: Plan) -> Iterator[str]:
    checkpoints = plan.checkpoints
    size = f"a checkpoint has {checkpoints.bytes / GIB:,.1f} GiB"
    if checkpoints.seconds is None or checkpoints.bytes_per_second is None:
        yield f"{size}; its time is not known: the file describes no new Lustre file system"
        return
    yield (
        f"{size}, and takes {checkpoints.seconds:,.0f} s"
        f" at {checkpoints.bytes_per_second / 1e9:,.2f} GB/s"
    )
    if checkpoints.held is not None and checkpoints.held < 3:
        yield f"  the file system has room for {checkpoints.held} of them; a training keeps 3"
    for name, loss in checkpoints.failures.items():
        yield from _loss_text(plan, name, loss)


def _loss_text(plan: Plan, name: str, loss: Failures) -> Iterator[str]:
    yield (
        f"as {name} (a node fails every {loss.node_mtbf_hours:,.0f} h, the job every"
        f" {loss.job_mtbf_hours:,.1f} h):"
    )
    hours = plan.wall_hours(loss)
    if hours is None or plan.hours is None:
        rest = "" if loss.efficiency else "; it would never finish"
        yield f"  save every {loss.interval_minutes:,.0f} min; {1 - loss.efficiency:.1%} lost{rest}"
        return
    yield (
        f"  save every {loss.interval_minutes:,.0f} min (Young; Daly {loss.daly_minutes:,.0f});"
        f" {1 - loss.efficiency:.1%} lost, {hours - plan.hours:,.1f} of {hours:,.1f} hours,"
        f" with {RESTART_MINUTES} min to replace a node;"
        f" {hours * plan.allocation.nodes:,.0f} node-hours"
    )
