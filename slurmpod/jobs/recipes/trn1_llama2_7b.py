"""`trn1-llama2-7b`: Llama 2 with 7 billion parameters, from the beginning, on Trainium.

The figures are those of AWS's launch post of HyperPod (awslabs/awsome-distributed-ai, 8.neuronx-
nemo-megatron): four nodes, tensor parallelism 8, sequence 4096, micro batch 1, global batch 256.
What trains is AWS's program for NeuronX Distributed, as it was released with Neuron 2.28.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.jobs.cluster_rules import is_shared, shared_mounts
from slurmpod.jobs.recipes.recipe import (
    SHARED_FOLDER,
    Fraction,
    Mistake,
    Parameters,
    Place,
    Recipe,
)

EXAMPLE = "nxd/examples/training/llama/tp_zero1_llama_hf_pretrain"
PROGRAM = f"{EXAMPLE}/tp_zero1_llama_hf_pretrain.py"
NXD = {
    "nxd_repository": "https://github.com/aws-neuron/neuronx-distributed.git",
    "nxd_release": "v2.28.0",
    "nxd_commit": "22cadad34418fb8b5939bd8cdfc7a376eede9981",
}
"""AWS's program for NeuronX Distributed: MIT-0."""

SWITCHES = (
    "--use_mix_precision",
    "--use_zero_1",
    "--sequence_parallel_enabled",
    "--selective_checkpoint_enabled",
)
"""FP32 moments, shared by the replicas (ZeRO-1); what is not shared by layers is by tokens; the
attention is computed again. So AWS's own script for this model has it."""

TOKENIZER = "meta-llama/Llama-2-7b-hf"
LICENCE = "https://www.llama.com/llama2/license"
READ = "secretsmanager:GetSecretValue"
LOGGED_EVERY = 10
"""Steps between two losses in the log, and steps that are compiled: the last one shows a loss."""


class LlamaParameters(Parameters):
    """What is trained, by default as in AWS's launch post."""

    accept_llama2_license: bool = False
    """Whether you have accepted Meta's licence of Llama 2, and Meta has granted you access."""

    token_secret: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9/_+=.@:-]+$", max_length=512, examples=["huggingface-token"]),
    ] = "huggingface-token"  # noqa: S105  # its name
    """Name or ARN of the secret in Secrets Manager that is a token of Hugging Face as plain text.
    The nodes' role must be allowed to read it."""

    texts: Annotated[
        str, Field(pattern=r"^/[^\s'\"]+$", max_length=1000, examples=["/fsx/texts/*.jsonl"])
    ] = "/fsx/texts/*.jsonl"
    """Training texts on shared storage: lines of JSON with a key `text`."""

    tensor_parallel_degree: Literal[8, 32] = 8
    """NeuronCores of a node that share each layer."""

    sequence_length: Annotated[int, Field(ge=128, le=32_768)] = 4096
    """Tokens of a sample."""

    micro_batch: Annotated[int, Field(ge=1, le=1024)] = 1
    """Samples that a replica takes at once."""

    global_batch: Annotated[int, Field(ge=1, le=65_536)] = 256
    """Samples of a step, of all replicas."""

    steps: Annotated[int, Field(ge=LOGGED_EVERY, le=10_000_000)] = 10_000
    """Steps of the optimizer."""

    warm_up_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    """Steps in which the learning rate grows."""

    learning_rate: Annotated[Fraction, Field(ge=0, le=1)] = 3e-4
    """Learning rate after the warm-up."""

    stochastic_rounding: bool = True
    """Whether to round FP32 to BF16 stochastically and keep weights in BF16; otherwise they are
    FP32."""

    checkpoint_steps: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    """Steps between two checkpoints."""

    kept_checkpoints: Annotated[int, Field(ge=2, le=1000)] = 3
    """Number of checkpoints to keep."""

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse what is not licensed, texts that nodes do not share, and batches that break."""
        if not self.accept_llama2_license:
            message = "Llama 2 may be used only by who has accepted Meta's licence"
            fix = f"read {LICENCE}, ask for access, and write accept_llama2_license: true"
            yield Mistake("accept_llama2_license", message, fix)
        if not is_shared(place.resolved, self.texts):
            mounts = ", ".join(shared_mounts(place.resolved)) or "there are none"
            message = f"{self.texts} is on no file system that all nodes share"
            yield Mistake("texts", message, f"name files below one of them: {mounts}")
        at_once = self._replicas(place) * self.micro_batch
        if self.global_batch % at_once:
            message = (
                f"{self.global_batch} samples cannot be shared by {self._replicas(place)} replicas"
            )
            fix = f"write a multiple of {at_once}, which is replicas x micro_batch"
            yield Mistake("global_batch", message, fix)

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the program and its options; what was compiled counts only for the same ones."""
        accumulated = self.global_batch // (self.micro_batch * self._replicas(place))
        options: dict[str, object] = {
            "model_path": f"{EXAMPLE}/7B_config_llama2",
            "data_dir": self._data,
            "output_dir": "output",
            "metrics_file": "metrics.json",
            "tensor_parallel_size": self.tensor_parallel_degree,
            "seq_len": self.sequence_length,
            "batch_size": self.micro_batch,
            "grad_accum_usteps": accumulated,
            "max_steps": self.steps,
            "steps_this_run": self.steps,
            "warmup_steps": self.warm_up_steps,
            "lr": self.learning_rate,
            "use_gpu_compatible_precision": int(not self.stochastic_rounding),
            "checkpoint_dir": "checkpoints",
            "checkpoint_freq": self.checkpoint_steps,
            "num_kept_checkpoint": self.kept_checkpoints,
            "loading_step": "latest_if_exists",
            "logging_interval": LOGGED_EVERY,
        }
        words = (word for name, value in options.items() for word in (f"--{name}", str(value)))
        return (PROGRAM, *words, *SWITCHES)

    def for_scripts(self, place: Place) -> Mapping[str, object]:
        """Return what the scripts of this recipe have beside."""
        return {
            **NXD,
            "region": place.resolved.region,
            "token_secret": self.token_secret,
            "token_advice": f"the role of the nodes needs {READ} on {self.token_secret}",
            "data": self._data,
            "texts": self.texts,
            "tokenizer": TOKENIZER,
            "sequence_length": self.sequence_length,
            "global_batch": self.global_batch,
            "stochastic_rounding": int(self.stochastic_rounding),
            "compile_steps": LOGGED_EVERY,
        }

    @property
    def _data(self) -> str:
        """The folder with the samples, of which each has this many tokens."""
        return f"data-{self.sequence_length}"

    def _replicas(self, place: Place) -> int:
        return place.processes // self.tensor_parallel_degree


RECIPE = Recipe(
    "trn1-llama2-7b",
    "Llama 2 with 7 billion parameters, trained from scratch on Trainium",
    (
        SHARED_FOLDER,
        "Meta's licence of Llama 2, accepted, and a token of Hugging Face in Secrets Manager",
        "internet, or mirrors: Neuron's and Python's packages, GitHub, Hugging Face",
        "Python 3.10 to 3.12 with venv in $PYTHON, for Neuron SDK 2.28, which it installs",
    ),
    scripts=(
        "trn1-llama2-7b/submit.sh",
        "trn1-llama2-7b/train.sbatch",
        "trn1-llama2-7b/train-compile.sbatch",
        "trn1-llama2-7b/train-prepare.sbatch",
        "trn1-llama2-7b/step.sh",
    ),
    parameters=LlamaParameters,
    instance_types=("ml.trn1.32xlarge", "ml.trn1n.32xlarge"),
    why_no_container="it creates a virtual environment with its own software",
    more=f"""\
`bash submit.sh` submits three jobs. The first creates a virtual environment with the pinned SDK on
shared storage, fetches AWS's program at a pinned commit, and tokenizes your texts; the second
compiles; the third trains, once both have succeeded. On four nodes there are 32 processes per node
and 16 replicas, each of which accumulates 16 micro batches. The recipe requires
`accept_llama2_license: true`, for [Meta's licence]({LICENCE}).
The token is read when the first job runs, and is in no file. `NEURON_RT_STOCHASTIC_ROUNDING_EN=1`
alone has no effect, because the program overrides it: the recipe also sets
`--use_gpu_compatible_precision 0`. After a restart it resumes from the newest checkpoint, and reads
the texts from the beginning of the epoch.

Neuron 2.28 (26 February 2026) is the last SDK that trains with PyTorch/XLA and NxD. Neuron 2.30
(21 May 2026) supports neither for training; 2.31 removed NxD from AWS's images, and 2.32 ended its
training. The successor, TorchNeuron, runs on Trainium2 and later, not on Trn1. Only the
jobs were tested, on four nodes of a rehearsal with stand-ins for `torchrun` and Neuron's tools, not
on Trainium.""",
)
