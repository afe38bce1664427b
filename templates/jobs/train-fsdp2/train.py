"""Train a model with FSDP2 such that it may be cut off at any time and goes on as if it had not.

Started once for each process, with the variables that torch.distributed reads (RANK, WORLD_SIZE,
LOCAL_RANK, MASTER_ADDR, MASTER_PORT). A checkpoint holds the weights, the optimizer, the learning
rate's schedule, the position in the data and the state of all random numbers. Ends with an error
whenever something fails, so that Slurm and HyperPod see it.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from checkpoints import Checkpoints
from model import Model, samples
from processes import join, run_to_the_end, say
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

SEED = 20_26


class Training:
    """Everything that a checkpoint holds but random numbers, which belong to processes."""

    def __init__(self, options: argparse.Namespace, device: torch.device) -> None:
        torch.manual_seed(SEED)  # all processes begin with the same weights
        self.model = _sharded(Model(options.width, options.depth, options.dropout), device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=options.learning_rate)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: _share_of_rate(step, options.warmup, options.steps)
        )
        self.step = 0
        self.samples_seen = 0
        self.processes = dist.get_world_size()

    def state_dict(self) -> dict[str, Any]:
        """Return the state as torch.distributed.checkpoint writes it."""
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {
            "model": model,
            "optimizer": optimizer,
            "schedule": self.schedule.state_dict(),
            "step": self.step,
            "samples_seen": self.samples_seen,
            "processes": self.processes,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state; `processes` is then how many wrote it."""
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        self.schedule.load_state_dict(state["schedule"])
        self.step = state["step"]
        self.samples_seen = state["samples_seen"]
        self.processes = state["processes"]


class RandomNumbers:
    """The state of this process's random numbers, under a name of its own."""

    def __init__(self, device: torch.device) -> None:
        self._name = f"process-{dist.get_rank()}"
        self._of_device = None if device.type == "cpu" else torch.get_device_module(device)

    def state_dict(self) -> dict[str, Any]:
        """Return what the next random numbers follow from."""
        states = {"cpu": torch.get_rng_state()}
        if self._of_device:
            states["device"] = self._of_device.get_rng_state()
        return {self._name: states}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the random numbers of the process that wrote it."""
        torch.set_rng_state(state[self._name]["cpu"])
        if self._of_device:
            self._of_device.set_rng_state(state[self._name]["device"])


def main(options: argparse.Namespace) -> None:
    """Train up to the last step, from the newest complete checkpoint if there is one."""
    device = join(options.device)
    processes = dist.get_world_size()
    if options.batch % processes:
        sys.exit(f"a batch of {options.batch} samples cannot be shared by {processes} processes")
    training = Training(options, device)
    random = RandomNumbers(device)
    checkpoints = Checkpoints(options.checkpoints, keep=options.keep)
    _resume(checkpoints, training, random)
    while training.step < options.steps:
        loss = _train_one_step(training, options.batch, device)
        if training.step % options.report_every == 0:
            rate = training.schedule.get_last_lr()[0]
            say(f"step {training.step} loss {loss:.6f} rate {rate:.3e}")
        if training.step % options.save_every == 0 or training.step == options.steps:
            checkpoints.save(training.step, {"training": training, "random": random})
    say(f"done after step {training.step}")


def _resume(checkpoints: Checkpoints, training: Training, random: RandomNumbers) -> None:
    processes = dist.get_world_size()
    torch.manual_seed(SEED + 1 + dist.get_rank())  # from here on, each process has its own
    newest = checkpoints.newest()
    if newest is None:
        say(f"starting from the beginning with {processes} processes")
        return
    checkpoints.load(newest, {"training": training})
    written_by, training.processes = training.processes, processes
    if written_by == processes:
        checkpoints.load(newest, {"random": random})
    say(f"resuming after step {training.step} with {processes} processes, {written_by} before")


def _train_one_step(training: Training, batch: int, device: torch.device) -> float:
    """Take this process's share of the next samples; return the mean loss of all of them."""
    share = batch // dist.get_world_size()
    texts = samples(training.samples_seen + dist.get_rank() * share, share).to(device)
    scores = training.model(texts[:, :-1])
    loss = functional.cross_entropy(scores, texts[:, 1:].flatten())
    loss.backward()
    mean = _finite(_mean_of_all(loss.detach()), "loss", training.step)
    norm = torch.nn.utils.clip_grad_norm_(training.model.parameters(), max_norm=1.0)
    _finite(norm.full_tensor().item(), "norm of all gradients", training.step)
    training.optimizer.step()
    training.optimizer.zero_grad()
    training.schedule.step()
    training.step += 1
    training.samples_seen += batch
    return mean


def _mean_of_all(loss: torch.Tensor) -> float:
    dist.all_reduce(loss)
    return loss.item() / dist.get_world_size()


def _finite(value: float, what: str, step: int) -> float:
    """Return a value, or end before it gets into the weights, and so into a checkpoint."""
    if not math.isfinite(value):
        raise ArithmeticError(f"the {what} is {value} after step {step}: no checkpoint may hold it")
    return value


def _sharded(model: Model, device: torch.device) -> Model:
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh).to(device)


def _share_of_rate(step: int, warmup: int, steps: int) -> float:
    """Return the share of the learning rate: it rises while warming up, then falls to nothing."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", default="cpu", help="kind of device: cpu, cuda or neuron")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder that nodes share")
    parser.add_argument("--keep", type=int, default=3, help="how many checkpoints stay")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save-every", type=int, default=100, metavar="STEPS")
    parser.add_argument("--report-every", type=int, default=1, metavar="STEPS")
    parser.add_argument("--batch", type=int, default=512, help="samples of all processes")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=20, metavar="STEPS")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--depth", type=int, default=4, help="blocks of the model")
    parser.add_argument("--dropout", type=float, default=0.1)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    run_to_the_end(lambda: main(chosen))
