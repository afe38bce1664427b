"""The model and the data of the training: a small language model and made-up texts. Put yours here.

Samples are numbered, and a sample depends on its number alone: so "we have seen 9600 samples" is
all that a checkpoint has to record about the data, whatever the number of processes.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

TOKENS = 256
LENGTH = 32
HEADS = 4


class Model(nn.Module):
    """Predicts the next token; FSDP shards `blocks` one by one."""

    def __init__(self, width: int, depth: int, dropout: float, heads: int = HEADS) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, width)
        self.positions = nn.Parameter(torch.zeros(LENGTH, width))
        self.blocks = nn.ModuleList(Block(width, dropout, heads) for _ in range(depth))
        self.head = nn.Linear(width, TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return a score for each token, one row for each place of each text."""
        values = self.tokens(tokens) + self.positions
        for block in self.blocks:
            values = block(values)
        return self.head(values.flatten(0, 1))


class Block(nn.Module):
    """Causal attention, then an MLP."""

    def __init__(self, width: int, dropout: float, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.mix = nn.Linear(width, width)
        self.layer = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.dropout = nn.Dropout(dropout)
        self.head_width = width // heads

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return the values, changed by both."""
        normed = self.norms[0](values)
        parts = (self._heads(each(normed)) for each in (self.query, self.key, self.value))
        seen = functional.scaled_dot_product_attention(*parts, is_causal=True)
        values = values + self.dropout(self.mix(seen.transpose(1, 2).flatten(2)))
        return values + self.dropout(self.layer(self.norms[1](values)))

    def _heads(self, part: torch.Tensor) -> torch.Tensor:
        """Return a part by heads: all of them, or this process's heads of a split layer."""
        return part.unflatten(-1, (-1, self.head_width)).transpose(1, 2)


def samples(first: int, count: int) -> torch.Tensor:
    """Return samples `first` to `first + count - 1`, one token longer than the model's input."""
    return torch.stack([_sample(number) for number in range(first, first + count)])


def _sample(number: int) -> torch.Tensor:
    """Count from a random token in random steps."""
    random = torch.Generator().manual_seed(number)
    start, stride = torch.randint(TOKENS, (2,), generator=random)
    return (start + stride * torch.arange(LENGTH + 1)) % TOKENS
