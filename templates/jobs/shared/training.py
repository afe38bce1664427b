"""What resumable trainings have in common: their state and their reports.

A checkpoint holds the weights, the optimizer, the learning rate's schedule, the position in the
data and the state of all random numbers.
"""

from __future__ import annotations

import math
import time
from typing import Any

import torch
import torch.distributed as dist
from processes import say
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from torch.nn import functional


class Training:
    """Everything in a checkpoint except random numbers, which belong to processes.

    `processes` says which ones train: their number, or their arrangement. Random numbers only
    continue if it is the same. With `flat` the optimizer's state has a name for each value of each
    parameter, which is required if processes have different parts of the model.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        schedule: torch.optim.lr_scheduler.LRScheduler,
        processes: int | str,
        *,
        flat: bool = False,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.schedule = schedule
        self.processes = processes
        self.step = 0
        self.samples_seen = 0
        self._options = StateDictOptions(flatten_optimizer_state_dict=flat)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as torch.distributed.checkpoint writes it."""
        model, optimizer = get_state_dict(self.model, self.optimizer, options=self._options)
        return {
            "model": model,
            "optimizer": optimizer,
            "schedule": self.schedule.state_dict(),
            "step": self.step,
            "samples_seen": self.samples_seen,
            "processes": self.processes,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load a state; `processes` is then that of the run that wrote it."""
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
            options=self._options,
        )
        self.schedule.load_state_dict(state["schedule"])
        self.step = state["step"]
        self.samples_seen = state["samples_seen"]
        self.processes = state["processes"]

    def advance(self, samples: int) -> None:
        """Run the optimizer's step with the current gradients; count it."""
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.schedule.step()
        self.step += 1
        self.samples_seen += samples


class RandomNumbers:
    """The state of this process's random numbers, under its own name."""

    def __init__(self, device: torch.device) -> None:
        self._name = f"process-{dist.get_rank()}"
        self._of_device = None if device.type == "cpu" else torch.get_device_module(device)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the random number generators."""
        states = {"cpu": torch.get_rng_state()}
        if self._of_device:
            states["device"] = self._of_device.get_rng_state()
        return {self._name: states}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with the random numbers of the process that wrote it."""
        torch.set_rng_state(state[self._name]["cpu"])
        if self._of_device:
            self._of_device.set_rng_state(state[self._name]["device"])


def adamw(
    model: nn.Module,
    learning_rate: float,
    betas: tuple[float, float] = (0.9, 0.999),
    weight_decay: float = 0.01,
) -> torch.optim.Optimizer:
    """Return AdamW for a model that is on its device; the default parameters are PyTorch's.

    On NVIDIA GPUs its step is one kernel: other variants need memory for it, a quarter more than
    weights, gradients and moments take.
    """
    parameters = list(model.parameters())
    is_fused = parameters[0].is_cuda
    return torch.optim.AdamW(parameters, learning_rate, betas, 1e-8, weight_decay, fused=is_fused)


def loss_of(model: nn.Module, texts: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of predicting each token from those before it, with 32 bits or more.

    Scores have no variable here: they are large, and would stay until the backward pass has ended.
    """
    return functional.cross_entropy(exact(model(texts[:, :-1])), texts[:, 1:].flatten())


def exact(scores: torch.Tensor) -> torch.Tensor:
    """Return scores with 32 bits or more."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def report(training: Training, loss: float, **more: str) -> None:
    """Print a line for the step, as `slurmpod job metrics` reads it; times are Unix seconds."""
    words = "".join(f" {name} {value}" for name, value in more.items())
    rate = training.schedule.get_last_lr()[0]
    done = f"step {training.step} loss {loss:.9f} rate {rate:.3e}"
    say(f"{done} samples {training.samples_seen} at {time.time():.3f}{words}")


def finite(value: float, what: str, step: int) -> float:
    """Return a value, or exit before it gets into the weights, and so into a checkpoint."""
    if not math.isfinite(value):
        raise ArithmeticError(f"the {what} is {value} after step {step}: no checkpoint may hold it")
    return value


def mean_of_all(loss: torch.Tensor) -> float:
    """Return the mean of the losses of all processes."""
    dist.all_reduce(loss)
    return loss.item() / dist.get_world_size()


def share_of_rate(step: int, warmup: int, steps: int) -> float:
    """Return the factor of the learning rate: it rises during warm-up, then falls to zero."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))
