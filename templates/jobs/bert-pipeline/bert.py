"""BERT, cut into stages, and made-up texts for it.

The shape is that of "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al. 2018),
trained to fill in masked tokens. Next-sentence prediction is left out, as in later models, and the
tables for tokens and for scores are separate, as they are in different stages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

MASKED = 0.15
MASK = 0
"""The token that replaces a masked one."""
UNSEEN = -100
"""The label that cross_entropy ignores."""
DEVIATION = 0.02
"""Standard deviation of the initial weights."""


@dataclass(frozen=True)
class Shape:
    """The size of a BERT."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    sequence: int
    dropout: float


class Bert(nn.Module):
    """Some layers of a BERT, under their own numbers; the first and the last include their ends.

    The initial weights of each part depend only on the seed and its number, not on the process.
    """

    def __init__(self, shape: Shape, layers: Iterable[int], seed: int) -> None:
        super().__init__()
        self._last = shape.layers - 1
        self.layers = nn.ModuleDict()
        for number in layers:
            if number == 0:
                self.beginning = _seeded(Beginning(shape), seed)
            self.layers[str(number)] = _seeded(_layer(shape), seed + 1 + number)
            if number == self._last:
                self.end = _seeded(End(shape), seed + 1 + shape.layers)

    def stage(self, layers: range) -> nn.Sequential:
        """Return some of the layers, as an ordered sequence."""
        beginning = [self.beginning] if 0 in layers else []
        end = [self.end] if self._last in layers else []
        return nn.Sequential(*beginning, *(self.layers[str(each)] for each in layers), *end)


class Beginning(nn.Module):
    """The embeddings of tokens and positions."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Embedding(shape.sequence, shape.width)
        self.norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, texts: torch.Tensor) -> torch.Tensor:
        """Return the embeddings of each token of each text."""
        places = torch.arange(texts.shape[1], device=texts.device)
        return self.dropout(self.norm(self.tokens(texts) + self.places(places)))


class End(nn.Module):
    """Returns a score for each token at each place of each text."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.layer = nn.Linear(shape.width, shape.width)
        self.norm = nn.LayerNorm(shape.width)
        self.scores = nn.Linear(shape.width, shape.vocabulary)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return the scores."""
        return self.scores(self.norm(functional.gelu(self.layer(values))))


def mean_loss(scores: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Return the mean over all masked tokens; every text has the same number of them."""
    return functional.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=UNSEEN)


def texts(first: int, count: int, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Return texts `first` to `first + count - 1` with masks, and the masked tokens.

    A text depends on its number alone.
    """
    found = [_text(number, shape) for number in range(first, first + count)]
    return torch.stack([seen for seen, _ in found]), torch.stack([wanted for _, wanted in found])


def _text(number: int, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Count from a random token in random steps."""
    random = torch.Generator().manual_seed(number)
    start, stride = torch.randint(shape.vocabulary - 1, (2,), generator=random)
    text = 1 + (start + stride * torch.arange(shape.sequence)) % (shape.vocabulary - 1)
    count = max(1, round(MASKED * shape.sequence))
    places = torch.randperm(shape.sequence, generator=random)[:count]
    wanted = torch.full_like(text, UNSEEN)
    wanted[places] = text[places]
    return text.index_fill(0, places, MASK), wanted


def _layer(shape: Shape) -> nn.Module:
    return nn.TransformerEncoderLayer(
        shape.width, shape.heads, 4 * shape.width, shape.dropout, "gelu", batch_first=True
    )


def _seeded(part: nn.Module, seed: int) -> nn.Module:
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, values in part.named_parameters():
            if values.ndim > 1:
                values.copy_(DEVIATION * torch.randn(values.shape, generator=random))
            elif name.endswith("bias"):
                values.zero_()
    return part
