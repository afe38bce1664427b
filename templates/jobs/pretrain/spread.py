"""Distribution of the decoder over a mesh of processes.

Processes that share a layer (`tensor`) are neighbours, followed by those that share a sequence
(`context`): they are on one node if possible. Both see the same samples; shards and replicas see
others. Parts of a sequence hold shards of the weights, too.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from activations import keep_less
from context import Context
from decoder import Decoder, Shape
from parts import Parts
from spreading import fill, mesh_of
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


@dataclass(frozen=True)
class Spread:
    """A distributed model: the samples that this process reads, and its part of them."""

    model: Decoder
    parts: Parts
    context: Context
    reader: int
    readers: int
    stages: DeviceMesh


def spread(shape: Shape, options: argparse.Namespace, device: torch.device) -> Spread:
    """Return the model on its devices; each process only ever has its own share of it."""
    readers = options.replicate * options.shard
    holders = options.shard * options.context
    mesh = mesh_of(device, options.replicate, holders, options.tensor, options.pipeline)
    by_reader = init_device_mesh(
        device.type,
        (options.pipeline, readers, options.context, options.tensor),
        mesh_dim_names=("stage", "reader", "context", "tensor"),
    )
    parts, context = Parts(mesh["tensor"]), Context(by_reader["context"])
    precision = getattr(torch, options.precision)
    with torch.device("meta"):
        model = Decoder(shape, parts, context, _layers(shape.layers, mesh["stage"]))
    if precision == torch.float64:
        model.to(precision)
    parts.split(model)
    keep_less(model.blocks.values(), options.activations, 0, device)
    policy = MixedPrecisionPolicy(cast_forward_inputs=False)
    if precision == torch.bfloat16:
        policy = MixedPrecisionPolicy(precision, torch.float32, cast_forward_inputs=False)
    for layer in (*model.blocks.values(), model):
        fully_shard(layer, mesh=mesh["replicate", "shard"], mp_policy=policy)
    fill(model, device, options.seed)
    reader = by_reader.get_local_rank("reader")
    return Spread(model, parts, context, reader, readers, mesh["stage"])


def refuse_misfits(options: argparse.Namespace) -> None:
    """Exit if options that were changed at submission do not fit the number of processes."""
    readers = options.replicate * options.shard
    others = options.pipeline * options.context * options.tensor
    if readers * others != dist.get_world_size():
        sys.exit(f"a mesh of {arranged(options)} is not one of {dist.get_world_size()} processes")
    if options.batch % (readers * options.micro_batch):
        each = f"{readers} readers, {options.micro_batch} at once"
        sys.exit(f"a batch of {options.batch} samples cannot be shared by {each}")
    if options.batch // (readers * options.micro_batch) < options.pipeline > 1:
        sys.exit(f"a batch of {options.batch} samples is too small for {options.pipeline} stages")
    if options.pipeline > (1 if options.shared_embedding else options.layers):
        sys.exit(f"the layers of this model cannot be shared by {options.pipeline} stages")
    if options.sequence % (2 * options.context):
        sys.exit(f"{options.sequence} tokens cannot be cut into {2 * options.context} pieces")


def arranged(options: argparse.Namespace) -> str:
    """Return the mesh in words: stages, replicas, shards, parts of a sequence, parts of layers."""
    mesh = (options.pipeline, options.replicate, options.shard)
    sizes = (*mesh, options.context, options.tensor)
    return "x".join(map(str, sizes))


def _layers(count: int, stages: DeviceMesh) -> range:
    """Return the layers of this process's stage."""
    number, total = stages.get_local_rank(), stages.size()
    return range(number * count // total, (number + 1) * count // total)
