"""Layers that are split over several processes, by their outputs or by their inputs.

As in Megatron-LM (Shoeybi et al. 2019, arXiv 1909.08053): values enter a split layer unchanged, and
the results of its parts are summed. In the backward pass it is the other way round.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn import functional

SPLIT = {
    "tokens.weight": 0,
    "output.weight": 0,
    "query.weight": 0,
    "key.weight": 0,
    "value.weight": 0,
    "mix.weight": 1,
    "gate.weight": 0,
    "up.weight": 0,
    "down.weight": 1,
    "gates": 2,
    "ups": 2,
    "downs": 1,
}
"""Suffixes of the names of split parameters, and the dimension of the split."""


class Parts:
    """The processes that share layers; nothing is split if there is one."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self._mesh = mesh
        self._is_split = mesh.size() > 1

    def split(self, model: nn.Module) -> None:
        """Keep only this process's part of the layers of a model that is on no device yet."""
        for path, module in model.named_modules() if self._is_split else ():
            for name, parameter in list(module.named_parameters(recurse=False)):
                whole = f"{path}.{name}"
                places = [Shard(to) for end, to in SPLIT.items() if f".{whole}".endswith(f".{end}")]
                if places:
                    part = distribute_tensor(parameter, self._mesh, places, src_data_rank=None)
                    setattr(module, name, nn.Parameter(part))

    def linear(self, values: torch.Tensor, layer: nn.Linear) -> torch.Tensor:
        """Return the output of this process's part of a layer."""
        return functional.linear(values, self.local(layer.weight))

    def local(self, values: torch.Tensor) -> torch.Tensor:
        """Return this process's part."""
        return values.to_local() if isinstance(values, DTensor) else values

    def seen(self, values: torch.Tensor) -> torch.Tensor:
        """Return values that are the same in all processes, for layers that PyTorch splits."""
        return DTensor.from_local(values, self._mesh, [Replicate()]) if self._is_split else values

    def entered(self, values: torch.Tensor) -> torch.Tensor:
        """Return values for a part: their gradients are summed over all parts."""
        if not self._is_split:
            return values
        return self.seen(values).to_local(grad_placements=[Partial()])

    def added(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum over all parts."""
        if not self._is_split:
            return values
        if not isinstance(values, DTensor):
            values = DTensor.from_local(values, self._mesh, [Partial()])
        return values.redistribute(placements=[Replicate()]).to_local()

    def losses(self) -> AbstractContextManager[None]:
        """Enable the loss, and its backward pass, on split scores."""
        return loss_parallel() if self._is_split else contextlib.nullcontext()
