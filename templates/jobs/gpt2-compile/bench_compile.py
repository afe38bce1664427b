"""Train GPT-2 twice in one run, eager and compiled, and measure the gain of the compiler.

Both start with the same weights and see the same texts, so their losses must be the same except for
rounding: otherwise the program exits with status 1. Writes gpt2-JOB.json, and gpt2-JOB.prom for
Prometheus.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import torch
import torch.distributed as dist
from gpt2 import Gpt2, texts
from processes import join, run_to_the_end, say
from torch.nn.parallel import DistributedDataParallel

SEED = 20_26
HALVES = ("none", "float16", "bfloat16")
Metrics = dict[str, float]


def main(options: argparse.Namespace) -> None:
    """Train both ways, compare, and write the metrics."""
    device = join(options.device)
    found = {
        way: train(options, device, compiled=way == "compiled") for way in ("eager", "compiled")
    }
    eager, compiled = found["eager"], found["compiled"]
    speed_up = compiled["train_samples_per_second"] / eager["train_samples_per_second"]
    say(f"compiled is {speed_up:.2f} times as fast")
    if dist.get_rank() == 0:
        file = Path(f"gpt2-{os.environ['SLURM_JOB_ID']}.json")
        file.write_text(json.dumps({**found, "speed_up": speed_up}, indent=2) + "\n")
        file.with_suffix(".prom").write_text(prometheus(found))
    if not abs(compiled["loss"] - eager["loss"]) <= options.tolerance * abs(eager["loss"]):
        sys.exit(f"the loss is {compiled['loss']} compiled, and {eager['loss']} as it is")


def train(options: argparse.Namespace, device: torch.device, *, compiled: bool) -> Metrics:
    """Train from the beginning; steps in which the compiler runs are counted separately."""
    torch.manual_seed(SEED)
    model = _model(options, device, compiled=compiled)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
    scaler = torch.amp.GradScaler(device.type, enabled=options.half == "float16")
    began = time.perf_counter()
    for step in range(options.warm_up_steps):
        _step(model, optimizer, scaler, step, options, device)
    _wait(device)
    warm = time.perf_counter()
    for step in range(options.warm_up_steps, options.warm_up_steps + options.steps):
        loss = _step(model, optimizer, scaler, step, options, device)
    _wait(device)
    seconds = time.perf_counter() - warm
    dist.all_reduce(loss)
    batch = options.batch_per_process * dist.get_world_size()
    metrics = {
        "train_runtime": seconds,
        "train_samples_per_second": options.steps * batch / seconds,
        "train_steps_per_second": options.steps / seconds,
        "loss": loss.item() / dist.get_world_size(),
        "epoch": (options.warm_up_steps + options.steps) * batch / options.samples,
        "learning_rate": options.learning_rate,
        "warm_up_runtime": warm - began,
    }
    say(f"{'compiled' if compiled else 'eager'}: {json.dumps(metrics)}")
    return metrics


def prometheus(found: Mapping[str, Metrics]) -> str:
    """Return metrics in the text format of Prometheus, e.g. for node_exporter's textfiles."""
    lines = []
    for name in found["eager"]:
        lines.append(f"# TYPE {name} gauge")
        lines += [f'{name}{{way="{way}"}} {each[name]!r}' for way, each in found.items()]
    return "\n".join(lines) + "\n"


def _model(options: argparse.Namespace, device: torch.device, *, compiled: bool) -> torch.nn.Module:
    model = Gpt2(
        layers=options.layers,
        width=options.width,
        heads=options.heads,
        vocabulary=options.vocabulary,
        block=options.block,
    )
    shared = DistributedDataParallel(model.to(device))
    return torch.compile(shared, backend=options.backend) if compiled else shared


def _step(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    step: int,
    options: argparse.Namespace,
    device: torch.device,
) -> torch.Tensor:
    share = options.batch_per_process
    first = (step * dist.get_world_size() + dist.get_rank()) * share
    batch = texts(
        first % options.samples, share, vocabulary=options.vocabulary, block=options.block
    )
    with _half(options.half, device):
        loss = model(batch.to(device))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


def _half(name: str, device: torch.device) -> AbstractContextManager[None]:
    """Compute with 16 bits, or unchanged."""
    if name == "none":
        return contextlib.nullcontext()
    return torch.autocast(device.type, getattr(torch, name))


def _wait(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", required=True, help="kind of device: cpu, cuda or neuron")
    parser.add_argument("--half", choices=HALVES, required=True, help="type to compute with")
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--tolerance", type=float, required=True, help="relative to the loss")
    parser.add_argument("--backend", required=True, help="compiler that torch.compile uses")
    parser.add_argument("--batch-per-process", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warm-up-steps", type=int, required=True)
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--vocabulary", type=int, required=True)
    parser.add_argument("--block", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    run_to_the_end(lambda: main(chosen))
