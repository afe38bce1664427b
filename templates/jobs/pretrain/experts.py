"""A mixture of experts: each token uses some of many MLPs.

Tokens are sorted by expert, and one kernel computes all experts. The CPU never waits for the number
of tokens of an expert.
"""

from __future__ import annotations

import torch
from parts import Parts
from torch import nn
from torch.nn import functional


class Experts(nn.Module):
    """The MLPs (SwiGLU) and the layer that chooses among them."""

    def __init__(self, width: int, hidden: int, count: int, active: int, parts: Parts) -> None:
        super().__init__()
        self.router = nn.Linear(width, count, bias=False)
        self.gates, self.ups = (nn.Parameter(torch.empty(count, width, hidden)) for _ in range(2))
        self.downs = nn.Parameter(torch.empty(count, hidden, width))
        self._active = active
        self._parts = parts

    def forward(self, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output of the chosen experts for each token, and their imbalance."""
        shares = self.router(values).to(torch.float32).softmax(-1)
        most, chosen = shares.topk(self._active, dim=-1)
        most = most / most.sum(-1, keepdim=True)
        used = torch.zeros_like(shares[:, 0]).scatter_add_(
            1, chosen.flatten(1), torch.ones_like(most).flatten(1)
        )
        rows = self._computed(values.flatten(0, 1), most.flatten(), chosen.flatten(), used.sum(0))
        return rows.view_as(values), _unequal(shares, used / (values.shape[1] * self._active))

    def _computed(
        self, rows: torch.Tensor, most: torch.Tensor, chosen: torch.Tensor, used: torch.Tensor
    ) -> torch.Tensor:
        """Return the weighted sum of each row's experts; `used` is how many rows each one has."""
        parts = self._parts
        order = chosen.argsort(stable=True)
        ends = used.cumsum(0).to(torch.int32)
        entered = parts.entered(rows).repeat_interleave(self._active, dim=0)[order]
        gates, ups, downs = (parts.local(each) for each in (self.gates, self.ups, self.downs))
        hidden = functional.silu(functional.grouped_mm(entered, gates, offs=ends))
        hidden = hidden * functional.grouped_mm(entered, ups, offs=ends)
        weights = parts.entered(most).to(rows.dtype)[order, None]
        made = functional.grouped_mm(hidden, downs, offs=ends) * weights
        back = made[order.argsort()].unflatten(0, (-1, self._active)).sum(1)
        return parts.added(back)


def _unequal(shares: torch.Tensor, used: torch.Tensor) -> torch.Tensor:
    """Return 1 if all experts of a sequence are used equally, and more if they are not.

    As in Switch Transformers (Fedus et al. 2021, arXiv 2101.03961), separately for each sequence:
    so it does not depend on which process has which sequences.
    """
    return shares.shape[-1] * (used * shares.mean(1)).sum(-1).mean()
