"""`pretrain`: language models of the plan's table, over the mesh that the plan has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.jobs.planning.compute import PEAK_TFLOPS, operations
from slurmpod.jobs.planning.models import MODELS
from slurmpod.jobs.recipes.recipe import (
    PYTORCH,
    SHARED_FOLDER,
    WITHOUT_BFLOAT16,
    WITHOUT_PYTORCH,
    Fraction,
    Mistake,
    Place,
    Recipe,
)
from slurmpod.jobs.recipes.trained import SAVING, WarmedUp

Degree = Annotated[int, Field(ge=1, le=65_536)]

FAMILIES = {name: model.family for name, model in MODELS.items() if model.family}
TRAINABLE = tuple(FAMILIES)


class PretrainParameters(WarmedUp):
    """The model, the mesh, and the training's numbers; `job plan --write` writes them."""

    model: Literal[TRAINABLE] = "llama3.2-1b"  # type: ignore[valid-type]
    """Its name in the plan's table."""

    data: Annotated[
        str, Field(max_length=4096, pattern=r"^(/[\w./-]+)?$", examples=["/fsx/tokens"])
    ] = ""
    """Folder of token files `*.bin` on shared storage; without it, texts are synthetic."""

    pipeline: Degree = 1
    """Stages, each with some of the layers, that hand on what they compute."""

    replicate: Degree = 1
    """Copies of the model."""

    shard: Annotated[int, Field(ge=0, le=65_536)] = 0
    """Shards of each copy. 0: as many as the number of processes allows."""

    context: Degree = 1
    """Parts of each sequence; they hold shards, too."""

    tensor: Degree = 1
    """Parts of each layer. Their processes exchange in every layer: keep them within a node."""

    sequence: Annotated[int, Field(ge=2, le=4_194_304)] = 2048
    """Tokens of a sample."""

    batch: Annotated[int, Field(ge=1, le=10_000_000)] = 512
    """Samples of all processes in a step."""

    micro_batch: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Samples that a process takes at once; it accumulates gradients until the batch is done."""

    activations: Literal["kept", "computed-again"] = "computed-again"
    """What layers keep for the backward pass: everything, or only their input."""

    precision: Literal["bfloat16", "float32", "float64"] = "bfloat16"
    """Precision of the computation. Weights and their sums have 32 bits with `bfloat16`, too;
    `float64` is for comparisons, and does not support experts."""

    balance: Annotated[Fraction, Field(ge=0, le=1)] = 0.001
    """Weight of the load-balancing loss of the experts."""

    report_every: Annotated[int, Field(ge=1, le=1_000_000)] = 10
    """Steps from one line of the log to the next: processors wait for accelerators only there."""

    seed: Annotated[int, Field(ge=0, le=2**31)] = 12_345
    """Seed of the first weights and of the order of the data."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the model's numbers, the mesh, and what tokens per second and MFU follow from."""
        model, family = MODELS[self.model], FAMILIES[self.model]
        experts, facts = model.experts, place.allocation.facts
        peak = PEAK_TFLOPS.get(facts.accelerator, 0) * facts.accelerator_count
        given = {
            **{name: value for name, value in self if name not in ("model", "data")},
            **({"data": self.data} if self.data else {}),
            "device": place.device,
            "checkpoints": "checkpoints",
            "shard": self._shards(place),
            "layers": model.layers,
            "width": model.width,
            "heads": model.heads,
            "kv_heads": model.kv_heads,
            "head_width": model.attention_width // model.heads,
            "mlp_width": experts.width if experts else model.mlp_width,
            "vocabulary": model.vocabulary,
            "rope_base": family.rope_base,
            "norm_epsilon": family.norm_epsilon,
            "normed_heads": int(family.has_normed_heads),
            "shared_embedding": int(model.shares_embedding),
            "experts": experts.count if experts else 0,
            "active_experts": experts.active if experts else 0,
            "flops_per_token": f"{operations(model, 1, self.sequence):.6g}",
            "peak_tflops": peak / place.allocation.processes,
        }
        options = ((f"--{name.replace('_', '-')}", str(value)) for name, value in given.items())
        return tuple(word for option in options for word in option)

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse a mesh that the processes do not fill, and what does not fit it."""
        model = MODELS[self.model]
        if model.experts and self.precision == "float64":
            message = "experts are not computed with 64 bits"
            yield Mistake("precision", message, "choose bfloat16 or float32")
        accelerator = place.allocation.facts.accelerator
        if self.precision == "bfloat16" and accelerator in WITHOUT_BFLOAT16:
            message = f"{accelerator} has no bfloat16, and would emulate it"
            yield Mistake("precision", message, "choose float32, or another instance type")
        if model.experts and self.context > 1:
            message = "how unequal experts are used is not known of parts of a sequence"
            yield Mistake("context", message, "set context: 1")
        if model.kv_heads % self.tensor:
            message = f"{model.kv_heads} heads of keys cannot be shared by {self.tensor} processes"
            yield Mistake("tensor", message, f"choose a divisor of {model.kv_heads}")
        if self.sequence % (2 * self.context):
            message = f"{self.sequence} tokens cannot be cut into {2 * self.context} pieces"
            yield Mistake("sequence", message, f"choose a multiple of {2 * self.context}")
        yield from self._mesh_mistakes(place)

    def _mesh_mistakes(self, place: Place) -> Iterator[Mistake]:
        model = MODELS[self.model]
        if self.pipeline > (most := 1 if model.shares_embedding else model.layers):
            why = "one embedding at both ends" if most == 1 else f"{most} layers"
            message = f"{self.model} has {why}, and so no {self.pipeline} stages"
            yield Mistake("pipeline", message, f"choose {most} at most")
            return
        if self._others * self._shards(place) != place.processes:
            sizes = (self.pipeline, self.replicate, self.shard, self.context, self.tensor)
            message = f"{place.processes} processes are no mesh of {' x '.join(map(str, sizes))}"
            fix = "set shard: 0, and let the product of the others divide the processes"
            yield Mistake("shard", message, fix)
            return
        at_once = self.replicate * self._shards(place) * self.micro_batch
        if self.batch % at_once:
            message = f"{self.batch} is no multiple of readers that take {at_once} samples at once"
            yield Mistake("batch", message, f"choose a multiple of {at_once}")
        elif self.batch // at_once < self.pipeline:
            message = f"{self.batch} samples are too few for {self.pipeline} stages"
            yield Mistake("batch", message, f"choose {self.pipeline * at_once} or more")

    @property
    def _others(self) -> int:
        return self.pipeline * self.replicate * self.context * self.tensor

    def _shards(self, place: Place) -> int:
        return self.shard or max(1, place.processes // self._others)


RECIPE = Recipe(
    "pretrain",
    "Llama, Qwen 3, Mistral and Mixtral trained from scratch, over the mesh of `job plan`",
    (SHARED_FOLDER, PYTORCH),
    program="pretrain.py",
    shared=(*SAVING, "activations.py", "spreading.py"),
    parameters=PretrainParameters,
    unsuitable=WITHOUT_PYTORCH,
    more="""\
It trains the decoders of the plan's table that share one design: RMSNorm, rotary positions, queries
that share keys, SwiGLU, Qwen 3's norms of heads, and mixtures of experts. `slurmpod job plan
--write` writes its parameters. The mesh has stages, replicas, shards (FSDP2), parts of sequences
and parts of layers; the vocabulary is split like layers. Experts are sharded and split, and each
process computes those of its own tokens. Each process creates the first values of its own shards,
one parameter at a time. Checkpoints are written in the background, and another mesh can resume from
them.

With `pipeline`, stages take turns as in 1F1B, by `torch.distributed.pipelining`. Its schedules keep
all weights and gradients of a sharded stage for a step, and some gather weights too early or too
late (pytorch/pytorch#164756). Here they do not see the shards: FSDP2 gathers weights for each pass
and reduces gradients after it, as without stages, which is the memory that `job plan` counts. Its
times are those of interleaved stages that gather weights once a step, so `--write` chooses no
stages: try them where shards then fit into a node. A model whose ends share an embedding has none.

`data` is a folder with `*.bin` files of consecutive tokens: 2 bytes each for vocabularies of up to
65,536, otherwise 4, as nanoGPT's preparation scripts write them. Files are mapped, and batches are
read ahead. The seed determines the order of samples. A checkpoint has the number of samples, so the
order continues after a resume; data of another size are refused. A Llama or Qwen of the table needs
files made with a tokenizer of the model's vocabulary.

With `float64`, losses equalled those of one process to 1e-6: with sequences and layers in two parts
each, killed after three steps, and with two shards that resumed from a checkpoint; with two stages
and sequences in two parts, killed and resumed without stages, and the other way round. Those of a
mixture of experts, with `float32`, did to 1e-4. On two nodes of a rehearsal, one of which lost its
power after the first checkpoint, the training resumed with the same losses. All this was on CPUs:
no GPU has run it.

There is no FP8. PyTorch 2.13 multiplies with 8 bits (`torch.nn.functional.scaled_mm`), but leaves
scales and the backward pass to its caller. torchao has both, but for a plain `nn.Linear`, and parts
of layers are computed differently here. It reports gains with `torch.compile` ("Quantized
Training"), which fuses the scaling with the operations before it; this recipe does not compile, and
there was no GPU to measure a gain. Expert parallelism is not offered, because nothing here has
shown it to be right.

Why not torchtitan? Version 0.3.0 from PyPI needs Python 3.11, where nodes have 3.10, and 60 more
packages than PyTorch. With PyTorch 2.13 it imports triton on CPUs, too, and its debug model ends
before its first step, because `torch._C` has no `_cuda_setDevice`: it cannot be tested without
GPUs. To use your own, run [`job adopt`](#a-repository-of-your-own).""",
)
