"""Language models by name or by their number of parameters, as shapes that memory follows from."""

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


class Model(Value):
    """A decoder: `mlp_matrices` is 3 with gated units (SwiGLU), 2 without.

    `stated` is the number of its parameters where that is all that is known, and the shape is a
    usual one of that size.
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

    @property
    def parameters_of_layer(self) -> int:
        """Weights of one layer, without its two small norms."""
        attention = 2 * self.width**2 * (1 + self.kv_heads / self.heads)
        return int(attention) + self.mlp_matrices * self.width * self.mlp_width

    @property
    def parameters(self) -> int:
        """All weights: layers, embedding, and output unless it is the embedding."""
        if self.stated:
            return self.stated
        embeddings = (1 if self.shares_embedding else 2) * self.vocabulary * self.width
        return self.layers * self.parameters_of_layer + embeddings


MODELS = {
    model.name: model
    for model in (
        Model("gpt-j-6b", 28, 4096, 16, 16, 16384, 50400, mlp_matrices=2),
        Model("gpt-neox-20b", 44, 6144, 64, 64, 24576, 50432, mlp_matrices=2),
        Model("gpt3-175b", 96, 12288, 96, 96, 49152, 50257, mlp_matrices=2, shares_embedding=True),
        Model("llama2-7b", 32, 4096, 32, 32, 11008, 32000),
        Model("llama2-13b", 40, 5120, 40, 40, 13824, 32000),
        Model("llama2-70b", 80, 8192, 64, 8, 28672, 32000),
        Model("llama3.1-8b", 32, 4096, 32, 8, 14336, 128256),
        Model("llama3.1-70b", 80, 8192, 64, 8, 28672, 128256),
        Model("llama3.1-405b", 126, 16384, 128, 8, 53248, 128256),
        Model("llama3.2-1b", 16, 2048, 32, 8, 8192, 128256, shares_embedding=True),
        Model("llama3.2-3b", 28, 3072, 24, 8, 8192, 128256, shares_embedding=True),
        Model("mistral-7b", 32, 4096, 32, 8, 14336, 32000),
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
