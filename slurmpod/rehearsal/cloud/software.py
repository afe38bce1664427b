"""What UpdateClusterSoftware asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BatchSize:
    """How many instances of a cluster are worked on at once: so many, or a percentage of all."""

    value: int
    is_percentage: bool

    def of(self, count: int) -> int:
        """Return the number for a cluster that has `count` instances, at least one."""
        return max(1, count * self.value // 100 if self.is_percentage else self.value)


ALL_AT_ONCE = BatchSize(100, is_percentage=True)


@dataclass(frozen=True)
class SoftwareUpdate:
    """New software for the nodes of some groups, batch by batch."""

    groups: tuple[str, ...]
    batch: BatchSize = ALL_AT_ONCE
    rollback_batch: BatchSize = ALL_AT_ONCE

    @property
    def strategy(self) -> str:
        """How the cluster's events name the way of updating."""
        return "AllAtOnce" if self.batch == ALL_AT_ONCE else "Rolling"
