"""Train with DistributedDataParallel, and compare each loss with that of one process.

The first process also trains its own model on all samples. If gradients get lost, or processes see
the wrong samples, the losses differ and the program exits with status 1. Start your own
data-parallel training from this one.
"""

from __future__ import annotations

import argparse
import sys

import torch
import torch.distributed as dist
from processes import join, run_to_the_end, say
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SEED = 20_26
FEATURES = 32


class Training:
    """A model with its optimizer: shared by all processes, or of one alone."""

    def __init__(self, options: argparse.Namespace, device: torch.device, *, shared: bool) -> None:
        torch.manual_seed(SEED)  # both start with the same weights
        model: nn.Module = nn.Sequential(
            nn.Linear(FEATURES, options.width), nn.Tanh(), nn.Linear(options.width, 1)
        ).to(device)
        self.model = DistributedDataParallel(model) if shared else model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=options.learning_rate)
        self._device = device

    def step(self, first: int, count: int) -> torch.Tensor:
        """Train on some samples; return their mean loss."""
        values, goals = (part.to(self._device) for part in samples(first, count))
        loss = nn.functional.mse_loss(self.model(values), goals)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def main(options: argparse.Namespace) -> None:
    """Train both ways, and compare after every step."""
    device = join(options.device)
    count, rank, share = dist.get_world_size(), dist.get_rank(), options.samples_per_process
    together = Training(options, device, shared=True)
    alone = Training(options, device, shared=False) if rank == 0 else None
    say(f"{count} processes take {share} samples each")
    for step in range(options.steps):
        first = step * count * share
        loss = together.step(first + rank * share, share)
        dist.all_reduce(loss)
        loss /= count
        if alone:
            _compare(step + 1, loss.item(), alone.step(first, count * share).item(), options)
    say(f"done after step {options.steps}: the losses are those of one process")


def samples(first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return made-up values with the numbers to be learnt; each depends on its index alone."""
    rows = [
        torch.randn(FEATURES, generator=torch.Generator().manual_seed(number))
        for number in range(first, first + count)
    ]
    values = torch.stack(rows)
    return values, values.sin().sum(1, keepdim=True)


def _compare(step: int, together: float, alone: float, options: argparse.Namespace) -> None:
    print(f"step {step} loss {together:.8f} alone {alone:.8f}", flush=True)
    if not abs(together - alone) <= options.tolerance * abs(alone):
        sys.exit(f"the loss of step {step} is {together}, and with one process {alone}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", required=True, help="kind of device: cpu, cuda or neuron")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--samples-per-process", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--tolerance", type=float, required=True, help="relative to the loss")
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    run_to_the_end(lambda: main(chosen))
