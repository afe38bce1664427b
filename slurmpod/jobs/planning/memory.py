"""Memory of one accelerator while it trains, by part.

Sources: ZeRO (Rajbhandari et al. 2019, arXiv 1910.02054) for what a parameter takes; Korthikanti et
al. 2022 (arXiv 2205.05198) for activations.
"""

from __future__ import annotations

from dataclasses import fields

from slurmpod.jobs.planning.models import Model
from slurmpod.value import Value

WEIGHT_BYTES = 2
GRADIENT_BYTES = 2
OPTIMIZER_BYTES = 12
"""Mixed precision with Adam: 16-bit weights and gradients, a 32-bit copy of the weights, and two
moments of 32 bits: 16 bytes for each parameter (ZeRO, section 3.1). PyTorch's FSDP keeps 32-bit
weights and gradients instead of 16-bit ones and a copy: the sum is the same."""

USABLE = 0.9
"""Share of the memory that a plan may fill: the rest is for CUDA, NCCL and fragments."""

GATHERED_LAYERS = 2
"""Layers whose weights FSDP holds whole: the one that is computed, and the next."""

MOST_CHUNKS = 4
"""Parts of a stage under the interleaved schedule; more of them send more than they save."""

LOGIT_BYTES = 12
"""What the loss has at once for each word of the vocabulary, in 32 bits: the logarithm of the
softmax, its gradient, and the gradient of the scores. PyTorch's cross_entropy was seen to take
that on a GPU."""


class Mesh(Value):
    """How accelerators share the work: their number is the product of the first five.

    `context` parts of a sequence hold shards of the weights, too, as in torchtitan. `experts` are
    the parts of a mixture of experts, which lie among the shards.
    """

    replicate: int
    shard: int
    tensor: int
    pipeline: int
    context: int = 1
    experts: int = 1

    @property
    def data_parallel(self) -> int:
        """Among how many the samples of a batch are shared."""
        return self.replicate * self.shard

    @property
    def accelerators(self) -> int:
        """All of them."""
        return self.data_parallel * self.context * self.tensor * self.pipeline

    @property
    def holders(self) -> int:
        """Among how many the weights of a part of a stage are shared."""
        return self.shard * self.context

    def layers_of_stage(self, model: Model) -> int:
        """Layers of the stage that has most: stages need not have equally many."""
        return -(-model.layers // self.pipeline)

    def chunks_of_stage(self, model: Model) -> int:
        """Parts in which a stage takes its turns, so that the others wait less for it."""
        return min(MOST_CHUNKS, self.layers_of_stage(model)) if self.pipeline > 1 else 1


class Load(Value):
    """The load of one accelerator.

    `micro` sequences; `accumulation` times for each step of the optimizer.
    """

    sequence: int
    micro: int
    accumulation: int
    is_checkpointed: bool


class Memory(Value):
    """Bytes of one accelerator by purpose."""

    weights: float
    gradients: float
    optimizer: float
    gathered: float
    activations: float

    @property
    def total(self) -> float:
        """All parts together."""
        return float(sum(getattr(self, each.name) for each in fields(self)))


def memory_of(model: Model, mesh: Mesh, load: Load) -> Memory:
    """Return the memory of the accelerator that needs most."""
    of_stage = mesh.layers_of_stage(model) / model.layers
    share = model.parameters * of_stage / (mesh.holders * mesh.tensor)
    layer = model.parameters_of_layer(mesh.experts) * WEIGHT_BYTES / mesh.tensor
    return Memory(
        weights=share * WEIGHT_BYTES,
        gradients=share * GRADIENT_BYTES,
        optimizer=share * OPTIMIZER_BYTES,
        gathered=GATHERED_LAYERS * layer if mesh.holders > 1 else 0,
        activations=_activations(model, mesh, load),
    )


def activations_of_layer(model: Model, mesh: Mesh, sequence: int, micro: int) -> float:
    """Return the bytes that a layer keeps for its backward pass: sbh(10 + (8 + 16m)/t).

    Equation 2 of Korthikanti et al. without its term of attention scores, which FlashAttention does
    not keep (Dao et al. 2022, arXiv 2205.14135). Its MLP has two matrices of four times the width:
    `m` is by how much that of the model is wider, which is 1 for GPT-3 and for Llama-2-7B.
    """
    wider = model.mlp_matrices * model.active_mlp_width / (8 * model.width)
    tokens = sequence / mesh.context * micro
    return tokens * model.width * (10 + (8 + 16 * wider) / mesh.tensor)


def _activations(model: Model, mesh: Mesh, load: Load) -> float:
    """Return the more of what the first and the last stage of a pipeline keep.

    The first one keeps those of as many micro batches as there are stages, and of a part of itself
    for each other stage (interleaved 1F1B: arXiv 2104.04473, 2.2). The last one has the output.
    """
    whole = activations_of_layer(model, mesh, load.sequence, load.micro)
    tokens = load.sequence / mesh.context * load.micro
    inputs = 2 * tokens * model.width
    kept, again = (inputs, whole) if load.is_checkpointed else (whole, 0)
    layers = mesh.layers_of_stage(model)
    early = (mesh.pipeline - 1) / mesh.chunks_of_stage(model)
    in_flight = min(mesh.pipeline + early, load.accumulation)
    logits = LOGIT_BYTES * tokens * model.vocabulary / mesh.tensor
    last = kept * layers + again + logits
    return max(last, kept * layers * in_flight + again)
