"""Parameters that are distributed over processes: their initial values and their gradients' norm.

No process ever has more than one parameter as a whole.
"""

from __future__ import annotations

import math
import zlib

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, distribute_tensor

DEVIATION = 0.02
"""Standard deviation of the initial weights, as in GPT-2."""


def mesh_of(
    device: torch.device, replicate: int, shard: int, tensor: int, stages: int = 1
) -> DeviceMesh:
    """Return the mesh of all processes; those that share a layer are neighbours."""
    names = ("stage", "replicate", "shard", "tensor")
    return init_device_mesh(device.type, (stages, replicate, shard, tensor), mesh_dim_names=names)


def fill(model: nn.Module, device: torch.device, seed: int) -> None:
    """Put the distributed model on its device; each process creates the values of its own shards.

    A parameter depends on the seed and its name, so every mesh of such devices starts with the same
    model, whichever layers a process has. No process ever has more than one parameter as a whole.
    """
    if any(True for _ in model.buffers()):
        raise NotImplementedError("the model has buffers: say here what they begin with")
    model.to_empty(device=device)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            random = torch.Generator(device).manual_seed(seed + zlib.crc32(name.encode()))
            whole = _first_values(name, parameter, random)
            places = parameter.device_mesh, parameter.placements
            parameter.copy_(distribute_tensor(whole, *places, src_data_rank=None))


def clip(model: nn.Module, most: float, stages: int = 1) -> torch.Tensor:
    """Return the norm of all gradients, and clip them to `most`.

    Each stage is a separate model, on the same number of processes.
    The CPU does not wait for the norm: on an accelerator it is not known yet.
    """
    gradients = [parameter.grad for parameter in model.parameters()]
    holders = dist.get_world_size() // stages
    squares = [each.to_local().square().sum() / _copies(each, holders) for each in gradients]
    total = torch.stack(squares).sum()
    dist.all_reduce(total)
    norm = total.sqrt()
    share = (most / (norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.to_local().mul_(share)
    return norm


def _copies(values: DTensor, holders: int) -> int:
    """Return how many of the processes that hold these values have the same part of them."""
    sizes = zip(values.device_mesh.shape, values.placements, strict=True)
    parts = math.prod(size for size, place in sizes if not place.is_replicate())
    return holders // parts


def _first_values(name: str, parameter: torch.Tensor, random: torch.Generator) -> torch.Tensor:
    values = torch.empty(parameter.shape, dtype=parameter.dtype, device=random.device)
    if parameter.ndim == 1:
        return values.fill_(float(name.endswith("weight")))  # norms; biases
    return values.normal_(std=DEVIATION, generator=random)
