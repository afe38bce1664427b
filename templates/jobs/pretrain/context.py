"""Sequences that are shared by several processes: each has two pieces of every one.

A sequence has twice as many pieces as processes, and the first process has the first and the last
of them: so all have the same amount of attention to compute. Keys and values of all pieces are
gathered, as in the training of Llama 3 (arXiv 2407.21783, 3.3.2).
"""

from __future__ import annotations

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right


class Context:
    """The processes that share each sequence; there may be one."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self._mesh = mesh
        self._size = mesh.size()
        self._mine = _pieces_of(mesh.get_local_rank(), self._size)

    def share(self, texts: torch.Tensor) -> torch.Tensor:
        """Return this process's pieces of whole sequences."""
        return torch.cat([texts.chunk(2 * self._size, dim=1)[each] for each in self._mine], dim=1)

    def places(self, tokens: int, device: torch.device) -> torch.Tensor:
        """Return the positions of this process's tokens in their sequence."""
        return self.share(torch.arange(tokens * self._size, device=device)[None])[0]

    def attend(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Return the attention of queries to everything before them."""
        if self._size == 1:
            return functional.scaled_dot_product_attention(
                query, key, value, is_causal=True, enable_gqa=True
            )
        key, value = self._gathered(key), self._gathered(value)
        length = query.shape[2] // 2
        found = [
            functional.scaled_dot_product_attention(
                piece,
                key[:, :, :end],
                value[:, :, :end],
                attn_mask=causal_lower_right(length, end),
                enable_gqa=True,
            )
            for piece, number in zip(query.chunk(2, dim=2), self._mine, strict=True)
            for end in ((number + 1) * length,)
        ]
        return torch.cat(found, dim=2)

    def _gathered(self, mine: torch.Tensor) -> torch.Tensor:
        """Return the pieces of all processes, in the order of the sequence."""
        shared = DTensor.from_local(mine, self._mesh, [Shard(2)])
        whole = shared.redistribute(placements=[Replicate()])
        pieces = whole.to_local(grad_placements=[Partial()]).chunk(2 * self._size, dim=2)
        held = [number for rank in range(self._size) for number in _pieces_of(rank, self._size)]
        return torch.cat([pieces[held.index(each)] for each in range(len(held))], dim=2)


def _pieces_of(rank: int, size: int) -> tuple[int, int]:
    return rank, 2 * size - 1 - rank
