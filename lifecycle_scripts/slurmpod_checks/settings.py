"""Settings of the checks, written by the lifecycle scripts on the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slurmpod_lifecycle.dataclass_json import from_json

PATH = Path("/etc/slurmpod/checks.json")

PROCESSOR, SCRATCH, SHARED_STORAGE = "processor", "scratch", "shared_storage"
ACCELERATORS, PAIRS, RINGS = "accelerators", "pairs", "rings"


@dataclass(frozen=True)
class ChecksSettings:
    """What to check, how often and where; `groups` has the accelerator kind of each group.

    `pair_groups` are the groups with sustained network bandwidth, not bursts. `all_reduce_bounds`
    is the GB/s that no all-reduce between two nodes exceeds, `ring_bounds` that of a ring of any
    size, for GPUs with EFA. `scratch` and `shared_folders` are folders that root can write. If
    `replace_after` is None, no node is replaced.
    """

    every_hours: int
    kinds: tuple[str, ...]
    groups: Mapping[str, str]
    pair_groups: tuple[str, ...]
    all_reduce_bounds: Mapping[str, float]
    ring_bounds: Mapping[str, float]
    least_share: float
    dcgm_level: int
    replace_after: int | None
    scratch: str | None
    shared_folders: tuple[str, ...]
    resource_config: str

    @classmethod
    def load(cls) -> ChecksSettings:
        """Read the file; raises OSError, ValueError, KeyError or TypeError if that fails."""
        return from_json(cls, json.loads(PATH.read_text(encoding="utf-8")))

    def of(self, kind: str) -> list[str]:
        """Return the checks of a single node, a pair or a ring, by their names in results."""
        of_more = {PAIRS: "pair", RINGS: "ring"}
        return [each for each in self.kinds if of_more.get(each, "alone") == kind]

    @property
    def minutes(self) -> int:
        """The time limit of a single node's check; each DCGM level takes longer."""
        has_gpus = ACCELERATORS in self.kinds and "gpu" in self.groups.values()
        return MINUTES + (MINUTES_OF_DCGM[self.dcgm_level] if has_gpus else 0)


MINUTES = 15
MINUTES_OF_DCGM = {1: 5, 2: 20, 3: 60}
