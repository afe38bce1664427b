"""Shapes of language models, by name or by number of parameters."""

from __future__ import annotations

import re

from slurmpod.value import Value

SUFFIXES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
COUNT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([KMBT]?)", re.ASCII)

HEAD_SIZE = 128
"""Width of an attention head in the models below that have more than a few billion parameters."""

WIDTH_PER_LAYER = 128
"""Width for each layer, as of Llama-2-7B (4096 / 32) and GPT-3 (12288 / 96)."""

PARAMETERS_OF_BLOCK = 12
"""Parameters of a layer for each square of its width: 4 of attention, 8 of the MLP (Kaplan et al.
2020, arXiv 2001.08361, table 1)."""

VOCABULARY = 32_000


class Experts(Value):
    """The MLPs of a mixture of experts: of `count`, each token goes through `active`.

    `shared` ones see every token beside these. The first `dense_layers` of the model have an
    ordinary MLP instead.
    """

    count: int
    active: int
    width: int
    shared: int = 0
    dense_layers: int = 0


class Family(Value):
    """What the sizes of a family of decoders share beside their shape.

    Positions are rotary, on the base `rope_base`; queries and keys are normalized separately if
    `has_normed_heads`.
    """

    rope_base: int
    norm_epsilon: float = 1e-5
    has_normed_heads: bool = False


class Model(Value):
    """A decoder: `mlp_matrices` is 3 with gated units (SwiGLU), 2 without.

    `stated` is the number of its parameters where that is all that is known, and the shape is a
    usual one of that size. `head_width` is 0 where the heads share the width of the model.
    `attention_parameters` are those of a layer whose attention is compressed, as DeepSeek's.
    `family` is None for a model that the recipe `pretrain` does not have.
    """

    name: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    mlp_width: int
    vocabulary: int
    mlp_matrices: int = 3
    shares_embedding: bool = False
    stated: int = 0
    head_width: int = 0
    attention_parameters: int = 0
    family: Family | None = None
    experts: Experts | None = None

    @property
    def attention_width(self) -> int:
        """Width of all heads together."""
        return self.heads * self.head_width if self.head_width else self.width

    @property
    def parameters(self) -> int:
        """All weights: layers, embedding, and output unless it is the embedding."""
        if self.stated:
            return self.stated
        every = self.experts.count if self.experts else 0
        return self._weights_of_layers(every) + self._embeddings

    @property
    def active_parameters(self) -> int:
        """The weights that one token meets: with a mixture of experts, a part of all."""
        if self.stated:
            return self.stated
        met = self.experts.active if self.experts else 0
        return self._weights_of_layers(met) + self._embeddings

    @property
    def active_mlp_width(self) -> int:
        """Width of the MLP that a token meets in most layers."""
        if not self.experts:
            return self.mlp_width
        return (self.experts.active + self.experts.shared) * self.experts.width

    def parameters_of_layer(self, expert_parts: int = 1) -> int:
        """Weights of the largest layer, without its two small norms.

        With `expert_parts`, those that one accelerator has of it whose experts are shared so.
        """
        if not self.experts:
            return self._attention + self._mlp(self.mlp_width)
        whole = self.experts.count / expert_parts + self.experts.shared
        return self._attention + int(whole * self._mlp(self.experts.width))

    def _weights_of_layers(self, experts: int) -> int:
        if not self.experts:
            return self.layers * self.parameters_of_layer()
        dense, shape = self.experts.dense_layers, self.experts
        router = self.width * shape.count
        mixture = (experts + shape.shared) * self._mlp(shape.width) + router
        mlps = dense * self._mlp(self.mlp_width) + (self.layers - dense) * mixture
        return self.layers * self._attention + mlps

    @property
    def _attention(self) -> int:
        if self.attention_parameters:
            return self.attention_parameters
        return int(2 * self.width * self.attention_width * (1 + self.kv_heads / self.heads))

    def _mlp(self, width: int) -> int:
        return self.mlp_matrices * self.width * width

    @property
    def _embeddings(self) -> int:
        return (1 if self.shares_embedding else 2) * self.vocabulary * self.width


DEEPSEEK_ATTENTION = (
    7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
)
"""Down and up for queries, down and up for keys and values, output (arXiv 2412.19437, 4.2)."""

LLAMA2 = Family(10_000)
LLAMA3 = Family(500_000)
MISTRAL = MIXTRAL = Family(1_000_000)
QWEN3 = Family(1_000_000, norm_epsilon=1e-6, has_normed_heads=True)
"""Llama 3.1's longer positions come after the pretraining. Sources: as of the shapes."""

MODELS = {
    model.name: model
    for model in (
        Model(
            *("deepseek-v3", 61, 7168, 128, 128, 18432, 129280),
            head_width=160,  # the mean of 192 for queries and keys, 128 for values
            attention_parameters=DEEPSEEK_ATTENTION,
            experts=Experts(256, 8, 2048, shared=1, dense_layers=3),
        ),
        Model("gpt-j-6b", 28, 4096, 16, 16, 16384, 50400, mlp_matrices=2),
        Model("gpt-neox-20b", 44, 6144, 64, 64, 24576, 50432, mlp_matrices=2),
        Model("gpt3-175b", 96, 12288, 96, 96, 49152, 50257, mlp_matrices=2, shares_embedding=True),
        Model("llama2-7b", 32, 4096, 32, 32, 11008, 32000, family=LLAMA2),
        Model("llama2-13b", 40, 5120, 40, 40, 13824, 32000, family=LLAMA2),
        Model("llama2-70b", 80, 8192, 64, 8, 28672, 32000, family=LLAMA2),
        Model("llama3.1-8b", 32, 4096, 32, 8, 14336, 128256, family=LLAMA3),
        Model("llama3.1-70b", 80, 8192, 64, 8, 28672, 128256, family=LLAMA3),
        Model("llama3.1-405b", 126, 16384, 128, 8, 53248, 128256, family=LLAMA3),
        Model("llama3.2-1b", 16, 2048, 32, 8, 8192, 128256, shares_embedding=True, family=LLAMA3),
        Model("llama3.2-3b", 28, 3072, 24, 8, 8192, 128256, shares_embedding=True, family=LLAMA3),
        Model("mistral-7b", 32, 4096, 32, 8, 14336, 32000, family=MISTRAL),
        Model(
            *("mixtral-8x7b", 32, 4096, 32, 8, 14336, 32000),
            experts=Experts(8, 2, 14336),
            family=MIXTRAL,
        ),
        Model(
            *("mixtral-8x22b", 56, 6144, 48, 8, 16384, 32768),
            experts=Experts(8, 2, 16384),
            family=MIXTRAL,
        ),
        Model(
            *("qwen3-0.6b", 28, 1024, 16, 8, 3072, 151936),
            family=QWEN3,
            shares_embedding=True,
            head_width=128,
        ),
        Model("qwen3-1.7b", 28, 2048, 16, 8, 6144, 151936, shares_embedding=True, family=QWEN3),
        Model(
            *("qwen3-4b", 36, 2560, 32, 8, 9728, 151936),
            shares_embedding=True,
            head_width=128,
            family=QWEN3,
        ),
        Model("qwen3-8b", 36, 4096, 32, 8, 12288, 151936, family=QWEN3),
        Model("qwen3-14b", 40, 5120, 40, 8, 17408, 151936, family=QWEN3),
        Model("qwen3-32b", 64, 5120, 64, 8, 25600, 151936, head_width=128, family=QWEN3),
        Model(
            *("qwen3-30b-a3b", 48, 2048, 32, 4, 6144, 151936),
            family=QWEN3,
            head_width=128,
            experts=Experts(128, 8, 768),
        ),
        Model(
            *("qwen3-235b-a22b", 94, 4096, 64, 4, 12288, 151936),
            family=QWEN3,
            head_width=128,
            experts=Experts(128, 8, 1536),
        ),
    )
}
"""Shapes from the configuration files of their publishers."""


def count(text: str) -> float | None:
    """Return the number in `7B`, `1.4T`, `350m` or `2000`; None for anything else."""
    match = COUNT.fullmatch(text.upper().replace("_", ""))
    return float(match[1]) * SUFFIXES[match[2]] if match else None


def model_of_size(parameters: float) -> Model:
    """Return a usual shape with about so many parameters."""
    layers = round((parameters / (PARAMETERS_OF_BLOCK * WIDTH_PER_LAYER**2)) ** (1 / 3))
    layers = max(2, layers + layers % 2)
    heads = (parameters / PARAMETERS_OF_BLOCK / layers) ** 0.5 / HEAD_SIZE
    heads = max(1, round(heads / 8) * 8 if heads > 8 else round(heads))
    width = heads * HEAD_SIZE
    return Model(
        name=f"a model of {parameters / 1e9:.3g}B parameters",
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=heads,
        mlp_width=4 * width,
        vocabulary=VOCABULARY,
        mlp_matrices=2,
        stated=int(parameters),
    )
