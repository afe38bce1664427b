"""GPT-2 and made-up texts for it; the default is the original size.

The shape is that of "Language Models are Unsupervised Multitask Learners" (Radford et al. 2019):
norms before attention and MLP, a norm at the end, the same table for tokens and for scores.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

DEVIATION = 0.02
"""Standard deviation of the initial weights."""


class Gpt2(nn.Module):
    """Returns the loss of predicting each token of each text from those before it."""

    def __init__(self, *, layers: int, width: int, heads: int, vocabulary: int, block: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(block, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.apply(_begin)

    def forward(self, texts: torch.Tensor) -> torch.Tensor:
        """Return the mean loss; texts have one token more than the model sees at once."""
        seen, wanted = texts[:, :-1], texts[:, 1:]
        places = torch.arange(seen.shape[1], device=seen.device)
        values = self.tokens(seen) + self.places(places)
        for layer in self.layers:
            values = layer(values)
        scores = functional.linear(self.norm(values), self.tokens.weight)
        return functional.cross_entropy(scores.flatten(0, 1).float(), wanted.flatten())


class Layer(nn.Module):
    """Causal attention, then an MLP."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return the values, changed by both."""
        parts = self.attention(self.norms[0](values)).chunk(3, dim=-1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        values = values + self.mix(seen.transpose(1, 2).flatten(2))
        inner = functional.gelu(self.inner(self.norms[1](values)), approximate="tanh")
        return values + self.outer(inner)


def texts(first: int, count: int, *, vocabulary: int, block: int) -> torch.Tensor:
    """Return texts by their numbers: each counts from a random token in random steps."""
    rows = []
    for number in range(first, first + count):
        random = torch.Generator().manual_seed(number)
        start, stride = torch.randint(vocabulary, (2,), generator=random)
        rows.append((start + stride * torch.arange(block + 1)) % vocabulary)
    return torch.stack(rows)


def _begin(module: nn.Module) -> None:
    """Initialise the weights."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=DEVIATION)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
