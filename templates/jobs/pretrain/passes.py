"""The passes of a step through the model and back: of one micro batch after the other, or in turns.

Stages take turns as in 1F1B (Narayanan et al. 2021, arXiv 2104.04473, 2.2): none keeps activations
of more micro batches than there are stages. FSDP gathers weights for each pass, and reduces
gradients after it, as it does without stages: so a process never has more of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from itertools import islice

import torch
from spread import Spread
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

Pair = tuple[torch.Tensor, torch.Tensor]


class Passes:
    """Leaves the gradients of a step with the parameters of this process."""

    def __init__(self, made: Spread, options: argparse.Namespace, device: torch.device) -> None:
        self._made = made
        self._device = device
        self._precision = next(made.model.parameters()).dtype
        self._balance = options.balance
        self._count = options.batch // (made.readers * options.micro_batch)
        self._take = self._in_turns() if made.stages.size() > 1 else self._one_by_one
        self._losses: list[torch.Tensor] = []

    def take(self, batches: Iterable[torch.Tensor]) -> torch.Tensor:
        """Return this process's loss: the mean over all processes is that of the step."""
        with self._made.parts.losses():
            self._take(map(self._pair, islice(batches, self._count)))
        found = self._losses[-self._count :]
        self._losses.clear()
        if not found:
            return torch.zeros((), dtype=self._precision, device=self._device)
        return torch.stack(found).mean() * self._made.stages.size()

    def _pair(self, texts: torch.Tensor) -> Pair:
        """Return what this process sees of a micro batch, and the tokens that come next."""
        share = self._made.context.share
        return share(texts[:, :-1]), share(texts[:, 1:])

    def _one_by_one(self, pairs: Iterable[Pair]) -> None:
        for seen, next_ones in pairs:
            self._loss(self._made.model(seen, next_ones=next_ones)).backward()

    def _in_turns(self) -> Callable[[Iterable[Pair]], None]:
        model, stages = self._made.model, self._made.stages
        place = stages.get_local_rank(), stages.size(), self._device
        stage = PipelineStage(_Stage(model), *place, group=stages.get_group())
        schedule = Schedule1F1B(
            stage, self._count, lambda found, _: self._loss(found), scale_grads=False
        )

        def take(pairs: Iterable[Pair]) -> None:
            seen, next_ones = map(torch.cat, zip(*pairs, strict=True))
            args = (seen,) if stage.is_first else ()
            more = {"next_ones": next_ones, "target": next_ones} if stage.is_last else {}
            schedule.step(*args, **more, return_outputs=False)

        return take

    def _loss(self, found: Pair) -> torch.Tensor:
        """Return what gradients follow from, of what the model found."""
        loss, unequal = found
        self._losses.append(loss.detach())
        return (loss + self._balance * unequal) / self._count


class _Stage(nn.Module):
    """A stage's layers, for a schedule that must not see how they are sharded.

    PyTorch's schedules would keep all weights of a stage, and their whole gradients, for a step.
    """

    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self._layers = layers

    def forward(self, *given: torch.Tensor, **more: torch.Tensor) -> object:
        """Return what the layers do."""
        return self._layers(*given, **more)
