"""A decoder as in Llama 2 and 3, Qwen 3, Mistral and Mixtral: its configuration says which.

Its layers may be split over several processes (`parts`), and so may a sequence (`context`). Weights
are the same as in whole layers: no process has to have all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from context import Context
from experts import Experts
from parts import Parts
from torch import nn
from torch.nn import functional
from training import exact


@dataclass(frozen=True)
class Shape:
    """The configuration of a model; `experts` is 0 if all tokens use one MLP."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    mlp_width: int
    vocabulary: int
    rope_base: float
    norm_epsilon: float
    normed_heads: bool
    shared_embedding: bool
    experts: int
    active_experts: int


Turns = tuple[torch.Tensor, torch.Tensor]
"""Cosines and sines of the rotary embedding: a row for each position."""


class Decoder(nn.Module):
    """Some layers of a decoder, under their own numbers; the first and last have its ends.

    The last returns the loss, as scores are too large to keep.
    """

    def __init__(self, shape: Shape, parts: Parts, context: Context, layers: range) -> None:
        super().__init__()
        self._is_first, self._is_last = layers.start == 0, layers.stop == shape.layers
        if self._is_first:
            self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleDict({str(each): Block(shape, parts, context) for each in layers})
        if self._is_last:
            self.norm = nn.RMSNorm(shape.width, shape.norm_epsilon)
            if not shape.shared_embedding:
                self.output = nn.Linear(shape.width, shape.vocabulary, bias=False)
        self._shape, self._parts, self._context = shape, parts, context

    def forward(
        self,
        values: torch.Tensor,
        unequal: torch.Tensor | None = None,
        next_ones: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the values or the mean loss, and the imbalance of the experts so far.

        The values of the first layer are tokens; the last layer predicts the next ones.
        """
        places = self._context.places(values.shape[1], values.device)
        turns = _turns(places, self._shape.head_width, self._shape.rope_base)
        if self._is_first:
            parts = self._parts
            values = parts.added(functional.embedding(parts.seen(values), self.tokens.weight))
        if unequal is None:
            unequal = values.new_zeros((), dtype=turns[0].dtype)
        for block in self.blocks.values():
            values, unequal = block(values, unequal, turns)
        return self._loss(values, next_ones) if self._is_last else values, unequal

    def _loss(self, values: torch.Tensor, next_ones: torch.Tensor) -> torch.Tensor:
        parts = self._parts
        last = self.tokens if self._shape.shared_embedding else self.output
        normed = parts.seen(self.norm(values).flatten(0, 1))
        scores = exact(functional.linear(normed, last.weight))
        return parts.local(functional.cross_entropy(scores, next_ones.flatten()))


class Block(nn.Module):
    """Causal attention, then an MLP or experts."""

    def __init__(self, shape: Shape, parts: Parts, context: Context) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(shape.width, shape.norm_epsilon) for _ in range(2))
        self.attention = Attention(shape, parts, context)
        if shape.experts:
            many = (shape.experts, shape.active_experts)
            self.mlp: nn.Module = Experts(shape.width, shape.mlp_width, *many, parts)
        else:
            self.mlp = Mlp(shape.width, shape.mlp_width, parts)

    def forward(
        self, values: torch.Tensor, unequal: torch.Tensor, turns: Turns
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the new values, and the imbalance of the experts of all blocks so far."""
        values = values + self.attention(self.norms[0](values), turns)
        more, of_block = self.mlp(self.norms[1](values))
        return values + more, unequal + of_block


class Attention(nn.Module):
    """Several heads of queries may share one of keys and values."""

    def __init__(self, shape: Shape, parts: Parts, context: Context) -> None:
        super().__init__()
        heads, pairs = (each * shape.head_width for each in (shape.heads, shape.kv_heads))
        self.query = nn.Linear(shape.width, heads, bias=False)
        self.key = nn.Linear(shape.width, pairs, bias=False)
        self.value = nn.Linear(shape.width, pairs, bias=False)
        self.mix = nn.Linear(heads, shape.width, bias=False)
        if shape.normed_heads:
            norms = (nn.RMSNorm(shape.head_width, shape.norm_epsilon) for _ in range(2))
            self.head_norms = nn.ModuleList(norms)
        self._shape, self._parts, self._context = shape, parts, context

    def forward(self, values: torch.Tensor, turns: Turns) -> torch.Tensor:
        """Return the causal attention of each position."""
        parts = self._parts
        entered = parts.entered(values)
        query, key, value = (
            parts.linear(entered, layer).unflatten(-1, (-1, self._shape.head_width)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        if self._shape.normed_heads:
            query, key = (
                functional.rms_norm(each, each.shape[-1:], parts.entered(norm.weight), norm.eps)
                for each, norm in zip((query, key), self.head_norms, strict=True)
            )
        seen = self._context.attend(_turned(query, turns), _turned(key, turns), value)
        return parts.added(parts.linear(seen.transpose(1, 2).flatten(2), self.mix))


class Mlp(nn.Module):
    """A gated layer (SwiGLU)."""

    def __init__(self, width: int, hidden: int, parts: Parts) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        self._parts = parts

    def forward(self, values: torch.Tensor) -> tuple[torch.Tensor, float]:
        """Return the layer's values; without experts there is no imbalance."""
        parts = self._parts
        entered = parts.entered(values)
        hidden = functional.silu(parts.linear(entered, self.gate)) * parts.linear(entered, self.up)
        return parts.added(parts.linear(hidden, self.down)), 0.0


def _turns(places: torch.Tensor, head_width: int, base: float) -> Turns:
    """Return the rotation angles of a head at each position (RoPE, Su et al. 2021, 2104.09864)."""
    pairs = torch.arange(0, head_width, 2, device=places.device)
    angles = places[:, None] * base ** (-pairs / head_width)
    return angles.cos(), angles.sin()


def _turned(heads: torch.Tensor, turns: Turns) -> torch.Tensor:
    one, other = exact(heads).chunk(2, dim=-1)
    cosines, sines = turns
    both = (one * cosines - other * sines, other * cosines + one * sines)
    return torch.cat(both, dim=-1).to(heads.dtype)
