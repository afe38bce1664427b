"""Distribution of the model over a mesh of processes: replicas, shards, and parts of layers.

Processes that share a layer (`tensor`) are neighbours, so they are on one node if possible. They
see the same samples; shards and replicas see others. If you change the model, change the names of
its layers here, too.
"""

from __future__ import annotations

import torch
from model import Model
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)

BY_COLUMNS = ("query", "key", "value", "layer.0")
BY_ROWS = ("mix", "layer.2")
"""Layers of a block whose outputs are split, and those after them, which sum the parts."""


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
