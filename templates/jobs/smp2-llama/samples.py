"""Made-up samples for `bench_smp.py`, and each process's share of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

VOCABULARY = 32_000


@dataclass(frozen=True)
class Share:
    """The samples of a process, and its part of each.

    Neighbours are a group that has the same samples: those that share layers have the same part of
    them, those that share samples (context parallelism) have another of `parts`.
    """

    group: int
    groups: int
    part: int
    parts: int

    def batch(self, step: int, samples: int, length: int) -> torch.Tensor:
        """Return what this process has of the samples of its group in one step.

        A sample is cut into two chunks for each part: a part has one of the first and one of the
        last, so that attention to what came before is as much work for all. AWS's adapter for NeMo
        does the same (`get_batch_for_cp_rank`). Where its chunks meet, a part has one wrong label.
        """
        chunks = tokens(step * self.groups + self.group, samples, length).chunk(
            2 * self.parts, dim=1
        )
        return torch.cat((chunks[self.part], chunks[-1 - self.part]), dim=1)


def share_of(rank: int, processes: int, keys: Mapping[str, int], part: int) -> Share:
    """Return the share of a process; SMP itself says which part is its own."""
    parts = keys["context_parallel_degree"]
    together = keys["tensor_parallel_degree"] * parts
    return Share(rank // together, processes // together, part, parts)


def tokens(number: int, samples: int, length: int) -> torch.Tensor:
    """Return the samples of one group in one step: each counts on from a random token."""
    random = torch.Generator().manual_seed(number)
    first = torch.randint(VOCABULARY, (samples, 1), generator=random)
    return (first + torch.arange(length)) % VOCABULARY
