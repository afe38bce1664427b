"""The keys of SMP's configuration (SageMaker model parallelism library, version 2).

`smp2-llama` hands them to SMP itself, as `smp_config.json`; other recipes take those of techniques
that open PyTorch has, too. Source: SageMaker developer guide, "The SageMaker model parallel library
v2 reference"; what relates several keys is also in aws/sagemaker-hyperpod-training-adapter-for-nemo
(`conf/config_schemas.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import Field

from slurmpod.jobs.recipes.recipe import Mistake, Parameters

RENAMED: Mapping[str, str] = MappingProxyType({"tensor_parallel_seed": "random_seed"})
"""Keys that older texts have, and what SMP calls them now."""

MOST_PROCESSES = 65_536
"""No job has more; how many there are is a matter of the place (`degree_mistakes`)."""

Degree = Annotated[int, Field(ge=1, le=MOST_PROCESSES)]
"""By how many processes something is shared."""


class Techniques(Parameters):
    """Keys of techniques that are SMP's, and that open PyTorch has, too."""

    renamed: ClassVar[Mapping[str, str]] = RENAMED

    tensor_parallel_degree: Degree = 1
    """Processes that share each layer."""

    hybrid_shard_degree: Annotated[int, Field(ge=0, le=MOST_PROCESSES)] = 0
    """Processes that share the parameters of a replica; 0: all available ones."""

    sm_activation_offloading: bool = True
    """Whether activations wait in the host's memory. Only with activation checkpointing."""

    activation_loading_horizon: Annotated[int, Field(ge=1, le=1000)] = 2
    """Layers whose activations are fetched ahead. Only with activation offloading."""

    random_seed: Annotated[int, Field(ge=0, le=2**31)] = 12_345
    """Seed of random numbers, the same for all parts of a layer."""

    def degree_mistakes(self, processes: int) -> Iterator[Mistake]:
        """Yield degrees that do not divide the job's processes, alone or together."""
        tensor, shard = self.tensor_parallel_degree, self.hybrid_shard_degree
        for name, degree in (("tensor_parallel_degree", tensor), ("hybrid_shard_degree", shard)):
            if degree and processes % degree:
                message = f"{degree} does not divide the {processes} processes of the job"
                yield Mistake(name, message, f"write one of {divisors(processes)}")
                return
        if processes % (tensor * (shard or 1)):
            message = f"{shard} times the tensor_parallel_degree {tensor} does not divide the"
            fix = f"write one of {divisors(processes // tensor)}"
            yield Mistake("hybrid_shard_degree", f"{message} {processes} processes of the job", fix)


def divisors(number: int) -> str:
    """Return what divides a number, as text."""
    return ", ".join(str(each) for each in range(1, number + 1) if number % each == 0)
