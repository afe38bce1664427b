"""`smp2-llama`: AWS's model parallelism library, version 2, with its own configuration.

Source of the rules: SageMaker developer guide, "The SageMaker model parallel library v2 reference",
"Supported frameworks and AWS Regions", "Expert parallelism", "Context parallelism", "Activation
offloading", "Compatibility with the SMDDP library"; what relates degrees is also checked by
aws/sagemaker-hyperpod-training-adapter-for-nemo (`conf/config_schemas.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.jobs.recipes.recipe import (
    SHARED_FOLDER,
    Fraction,
    Mistake,
    Place,
    Recipe,
)
from slurmpod.jobs.recipes.smp_keys import Degree, Techniques, divisors

IMAGE = "658645717510.dkr.ecr.{}.amazonaws.com/smdistributed-modelparallel:2.5.1-gpu-py311-cu124"
"""SMP 2.8.0 of April 2025, the latest: PyTorch 2.5.1, CUDA 12.4, SMDDP 2.6.0."""

TYPES = ("ml.p4d.24xlarge", "ml.p4de.24xlarge", "ml.p5.48xlarge", "ml.p5e.48xlarge")
WITH_SMDDP = TYPES[:2]
MIXTURES = frozenset({"mixtral-8x7b"})
"""Models with experts: they have expert parallelism, and no context parallelism."""


class SmpConfiguration(Techniques):
    """All keys of SMP's configuration."""

    context_parallel_degree: Degree = 1
    """Processes that share each sample; they are among those that share the parameters."""

    expert_parallel_degree: Degree = 1
    """Processes that share the experts of a layer. Only for mixtral-8x7b."""

    fsdp_cache_flush_warnings: bool = True
    """Whether to warn when PyTorch's allocator flushes its cache."""

    allow_empty_shards: bool = False
    """Whether a process may have no part of a parameter."""

    def configuration(self) -> Mapping[str, object]:
        """Return SMP's keys alone."""
        return {key: getattr(self, key) for key in SmpConfiguration.model_fields}

    def key_mistakes(self, processes: int) -> Iterator[Mistake]:
        """Yield what SMP refuses, or does not do."""
        tensor, expert = self.tensor_parallel_degree, self.expert_parallel_degree
        if tensor > 1 and expert > 1:
            message = f"experts cannot be shared beside a tensor_parallel_degree of {tensor}"
            yield Mistake("expert_parallel_degree", message, "write 1 for one of the two")
            return
        found = list(self.degree_mistakes(processes))
        yield from found or self._shared_mistakes(processes)
        if (
            not self.sm_activation_offloading
            and "activation_loading_horizon" in self.model_fields_set
        ):
            message = "nothing is fetched ahead without activation offloading"
            fix = "remove it, or write sm_activation_offloading: true"
            yield Mistake("activation_loading_horizon", message, fix)

    def _shared_mistakes(self, processes: int) -> Iterator[Mistake]:
        """Yield degrees that do not fit those of tensors and shards."""
        expert, context = self.expert_parallel_degree, self.context_parallel_degree
        others = self.tensor_parallel_degree * (self.hybrid_shard_degree or 1)
        if processes % (others * expert):
            message = (
                f"{expert} times {others} does not divide the {processes} processes of the job"
            )
            fix = f"write one of {divisors(processes // others)}"
            yield Mistake("expert_parallel_degree", message, fix)
        shards = self.hybrid_shard_degree or processes // (self.tensor_parallel_degree * expert)
        message = ""
        if context > shards:
            message = f"{context} processes are not among the {shards} that share the parameters"
        elif processes % (self.tensor_parallel_degree * context):
            degree = f"{context} times the tensor_parallel_degree {self.tensor_parallel_degree}"
            message = f"{degree} does not divide the {processes} processes of the job"
        if message:
            fix = f"write one of {divisors(shards)}"
            yield Mistake("context_parallel_degree", message, fix)


class SmpParameters(SmpConfiguration):
    """SMP's keys, and what is trained with them."""

    model: Literal["llama2-7b", "llama2-13b", "llama2-70b", "mixtral-8x7b"] = "llama2-7b"
    """The model, with random initial weights."""

    backend: Literal["nccl", "smddp"] = "nccl"
    """Communication backend. smddp is AWS's SMDDP, for p4d and p4de only."""

    activation_checkpointing: bool = True
    """Whether the activations of a layer are recomputed when they are needed."""

    delayed_initialization: bool = True
    """Whether parameters get their memory only when they are sharded: AWS advises it from 60
    billion parameters on."""

    moe_load_balancing: Literal["sinkhorn", "aux_loss", "balanced", "none"] = "sinkhorn"
    """How tokens are assigned to experts. Only for mixtral-8x7b."""

    cp_comm_type: Literal["p2p", "all_gather"] = "p2p"
    """How processes exchange the parts of a sample, with a context_parallel_degree above 1."""

    sequence_length: Annotated[int, Field(ge=128, le=1_048_576)] = 4096
    """Tokens of a sample: processes that share it take two chunks each, all of the same length."""

    batch_per_process: Annotated[int, Field(ge=1, le=1024)] = 1
    """Samples that a process, or those that share each sample, take in each step."""

    steps: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """Steps of the optimizer."""

    learning_rate: Annotated[Fraction, Field(ge=0, le=1)] = 1e-4
    """Learning rate of AdamW."""

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse what SMP's documentation excludes."""
        yield from self.key_mistakes(place.processes)
        yield from self._model_mistakes()
        if self.sm_activation_offloading and not self.activation_checkpointing:
            message = "activations are only offloaded with activation checkpointing"
            fix = "write true, or sm_activation_offloading: false"
            yield Mistake("activation_checkpointing", message, fix)
        yield from self._length_mistakes()
        yield from self._backend_mistakes(place.allocation.facts.name)

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the file of SMP's keys, and the options that are the program's own."""
        del place
        own = {name: value for name, value in self if name not in SmpConfiguration.model_fields}
        words = (word for name, value in own.items() for word in (_option(name), str(value)))
        return ("--config", "smp_config.json", *words)

    def files(self, place: Place) -> Mapping[str, str]:
        """Return SMP's configuration as its documentation has it."""
        del place
        return {"smp_config.json": json.dumps(self.configuration(), indent=2) + "\n"}

    def image(self, place: Place) -> str:
        """Return AWS's image with SMP, in the environment's Region."""
        return IMAGE.format(place.resolved.region)

    def _model_mistakes(self) -> Iterator[Mistake]:
        if self.model not in MIXTURES and self.expert_parallel_degree > 1:
            message = f"{self.model} has no experts"
            yield Mistake("expert_parallel_degree", message, "write 1, or model: mixtral-8x7b")
        if self.model in MIXTURES and self.context_parallel_degree > 1:
            message = f"SMP has no context parallelism for {self.model}"
            yield Mistake("context_parallel_degree", message, "write 1, or choose a Llama")

    def _length_mistakes(self) -> Iterator[Mistake]:
        """Yield samples that cannot be cut into two chunks for each process that shares them."""
        context = self.context_parallel_degree
        if context > 1 and self.sequence_length % (2 * context):
            message = f"{context} processes cannot share {self.sequence_length} tokens"
            fix = f"write a multiple of {2 * context}: each takes two chunks of a sample"
            yield Mistake("sequence_length", message, fix)

    def _backend_mistakes(self, instance_type: str) -> Iterator[Mistake]:
        if self.backend != "smddp":
            return
        if instance_type not in WITH_SMDDP:
            message = f"SMDDP does not know {instance_type}: it is for {' and '.join(WITH_SMDDP)}"
            yield Mistake("backend", message, "write nccl")
        elif self.tensor_parallel_degree > 1 and self.hybrid_shard_degree == 1:
            message = "SMDDP is not for tensor parallelism with a hybrid_shard_degree of 1"
            yield Mistake("backend", message, "write nccl")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


RECIPE = Recipe(
    "smp2-llama",
    "Llama 2 with AWS's model parallelism library SMP v2, on synthetic tokens",
    (
        SHARED_FOLDER,
        "containers on the nodes (lifecycle.containers)",
        "the nodes' role allowed to read AWS's registry 658645717510, or an image of SMP as a file",
    ),
    program="bench_smp.py",
    scripts=("measurement.sbatch", "step.sh"),
    parameters=SmpParameters,
    instance_types=TYPES,
    more="""\
SMP's keys are in the same file of parameters as the others. The file may be JSON, like SMP's. They
become `smp_config.json`, after everything that SMP's documentation excludes has been refused. The
program trains with FSDP, tensor parallelism, activation checkpointing and offloading, and delayed
initialization as AWS describes them, prints the loss and the tokens per second, and keeps no
checkpoints. **None of this was run**: SMP exists only in AWS's image, and was last released in
April 2025 (2.8.0). The recipe fsdp2-hybrid has the same techniques in open PyTorch.""",
)
