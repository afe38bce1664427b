"""`check-nodes`: each node's hardware, disks and clock against what it should have, as a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from slurmpod.folders import folder
from slurmpod.jobs.cluster_rules import shared_mounts
from slurmpod.jobs.recipes.recipe import (
    EACH_NODE,
    NODES_THEMSELVES,
    SHARED_FOLDER,
    Parameters,
    Place,
    Recipe,
)

CHECKS = "slurmpod_health"
"""The checks that workers run around jobs (`lifecycle.health_checks`); the job brings its own."""


class CheckParameters(Parameters):
    """What else a node has to have."""

    free_gib_on_root: Annotated[int, Field(ge=0, le=100_000)] = 5
    """Free space of the root disk, in GiB: Slurm's files, logs and /tmp are there."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return whether srun has to know the options of containers."""
        return ("--containers",) if place.resolved.environment.lifecycle.containers else ()

    def files(self, place: Place) -> Mapping[str, str]:
        """Return the checks, and what they compare a node with."""
        package = folder("lifecycle_scripts") / CHECKS
        checks = {
            f"{CHECKS}/{path.name}": path.read_text(encoding="utf-8")
            for path in sorted(package.glob("*.py"))
        }
        return {**checks, "expectations.json": json.dumps(self._expected(place), indent=2) + "\n"}

    def _expected(self, place: Place) -> dict[str, object]:
        """Return the expectations of every node; each of them fills in its name."""
        facts, storage = place.allocation.facts, place.resolved.environment.storage
        shared = [{"path": path, "writable": False} for path in shared_mounts(place.resolved)]
        return {
            "node": "",
            "accelerator_kind": facts.accelerator_kind,
            "accelerators": facts.accelerator_count,
            "efa_interfaces": facts.efa_interfaces,
            "scratch": storage.scratch.mount_path if storage.scratch else None,
            "shared_folders": shared,
            "free_mib_on_root": self.free_gib_on_root * 1024,
        }


RECIPE = Recipe(
    "check-nodes",
    "checks of every node: accelerators, EFA, disks, shared storage, containers, clock",
    (SHARED_FOLDER,),
    program="check_node.py",
    together="compare_nodes.py",
    scripts=EACH_NODE,
    why_no_container=NODES_THEMSELVES,
    parameters=CheckParameters,
    more="""\
The job compares every node with its instance type and its environment, with the checks that workers
run around jobs (`lifecycle.health_checks`), which the job brings along. It prints one table. A node
deviates if one of its results is bad or missing, or if a check ends differently than on most nodes.
The job then fails and names the node with the reason. Accelerators without any EFA count as bad,
too; the checks around jobs only report that. `results-JOB/nodes.json` has all results.""",
)
