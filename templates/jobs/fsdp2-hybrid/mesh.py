"""How the model is spread over a mesh of processes: replicas, shards, and parts of layers.

Processes that share a layer (`tensor`) are neighbours, so they are on one node where they can be.
They see the same samples; shards and replicas see others. Where you change the model, change the
names of its layers here, too.
"""

from __future__ import annotations

import math

import torch
import torch.distributed as dist
from model import Model
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)

BY_COLUMNS = ("query", "key", "value", "layer.0")
BY_ROWS = ("mix", "layer.2")
"""Layers of a block whose outputs are split, and those behind them, which add the parts up."""

DEVIATION = 0.02
"""Standard deviation of the first weights, as GPT-2 has it."""


def mesh_of(device: torch.device, replicate: int, shard: int, tensor: int) -> DeviceMesh:
    """Return the mesh of all processes."""
    names = ("replicate", "shard", "tensor")
    return init_device_mesh(device.type, (replicate, shard, tensor), mesh_dim_names=names)


def spread(model: Model, mesh: DeviceMesh, precision: torch.dtype) -> Model:
    """Split and shard a model that is on no device yet; it computes with `precision`."""
    data = mesh["replicate", "shard"]
    policy = MixedPrecisionPolicy()
    if precision == torch.bfloat16:
        policy = MixedPrecisionPolicy(param_dtype=precision, reduce_dtype=torch.float32)
    styles: dict[str, ParallelStyle] = {name: ColwiseParallel() for name in BY_COLUMNS}
    styles |= {name: RowwiseParallel() for name in BY_ROWS}
    for block in model.blocks:
        if mesh["tensor"].size() > 1:
            parallelize_module(block, mesh["tensor"], styles)
        fully_shard(block, mesh=data, mp_policy=policy)
    return fully_shard(model, mesh=data, mp_policy=policy)


def fill(model: nn.Module, device: torch.device, seed: int) -> None:
    """Put the spread model on its device; each process makes the values of its own shards.

    A parameter follows from the seed and its name, so every mesh of such devices begins with the
    same model. No process ever has more than one parameter as a whole.
    """
    if any(True for _ in model.buffers()):
        raise NotImplementedError("the model has buffers: say in mesh.py what they begin with")
    model.to_empty(device=device)
    with torch.no_grad():
        for number, (name, parameter) in enumerate(model.named_parameters()):
            random = torch.Generator(device).manual_seed(seed + number)
            whole = _first_values(name, parameter, random)
            places = parameter.device_mesh, parameter.placements
            parameter.copy_(distribute_tensor(whole, *places, src_data_rank=None))


def clip(model: nn.Module, most: float) -> float:
    """Return the norm of all gradients, and shrink them to `most` where it is more."""
    gradients = [parameter.grad for parameter in model.parameters()]
    squares = [each.to_local().square().sum() / _copies(each) for each in gradients]
    total = torch.stack(squares).sum()
    dist.all_reduce(total)
    norm = total.sqrt().item()
    for gradient in gradients:
        gradient.mul_(min(1.0, most / (norm + 1e-6)))
    return norm


def _copies(values: DTensor) -> int:
    """Return how many processes have the same part of these values."""
    sizes = zip(values.device_mesh.shape, values.placements, strict=True)
    parts = math.prod(size for size, place in sizes if not place.is_replicate())
    return dist.get_world_size() // parts


def _first_values(name: str, parameter: torch.Tensor, random: torch.Generator) -> torch.Tensor:
    values = torch.empty(parameter.shape, dtype=parameter.dtype, device=random.device)
    if parameter.ndim == 1:
        return values.fill_(float(name.endswith("weight")))  # norms; biases
    return values.normal_(std=DEVIATION, generator=random)
