"""`io-bench`: throughput of shared file systems and scratch, against what accelerators need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from slurmpod.environment.image import IMAGE_USER
from slurmpod.folders import folder
from slurmpod.jobs.cluster_rules import shared_mounts
from slurmpod.jobs.recipes.recipe import (
    EACH_NODE,
    NODES_THEMSELVES,
    SHARED_FOLDER,
    Mistake,
    Parameters,
    Place,
    Recipe,
)

Folder = Annotated[
    str, Field(pattern=r"^(?:/[A-Za-z0-9_.-]+)+$", max_length=200, examples=["/fsx"])
]
MEASURING = ("slurmpod_checks/__init__.py", "slurmpod_checks/throughput.py")
"""What writes and reads, as it does in the checks of idle nodes (`checks`); the job brings it."""

BlockKib = Annotated[int, Field(ge=4, le=1_048_576)]


class IoParameters(Parameters):
    """What is measured, and what is too slow."""

    folders: tuple[Folder, ...] | None = None
    """Folders that are measured, in which the job's user may write; by default one below each
    shared file system, and scratch."""

    block_kib: Annotated[tuple[BlockKib, ...], Field(min_length=1)] = (64, 1024, 16_384)
    """Sizes of a single read or write, in KiB."""

    mib_per_file: Annotated[int, Field(ge=1, le=1_048_576)] = 1024
    """Size of a file, in MiB: more than caches hold, if they are to be left out."""

    files_per_node: Annotated[int, Field(ge=1, le=256)] = 4
    """Files that a node writes, then reads, side by side."""

    mib_per_s_per_accelerator: Annotated[int, Field(ge=0, le=100_000)] = 50
    """Throughput that a process of the training needs, in MiB per second; 0: no check. Texts need
    almost nothing, pictures and videos hundreds."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return all numbers, the folders, and what the whole job needs."""
        needed = self.mib_per_s_per_accelerator * place.processes
        return (
            *("--folders", *self._folders(place)),
            *("--block-kib", *map(str, self.block_kib)),
            *("--mib-per-file", str(self.mib_per_file)),
            *("--files-per-node", str(self.files_per_node)),
            *("--needed-mib-per-s", str(needed)),
        )

    def files(self, place: Place) -> Mapping[str, str]:
        """Return the programs that write and read."""
        del place
        scripts = folder("lifecycle_scripts")
        return {name: (scripts / name).read_text(encoding="utf-8") for name in MEASURING}

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse files that are smaller than a block, and nodes without anything to measure."""
        if max(self.block_kib) > self.mib_per_file * 1024:
            message = f"a block of {max(self.block_kib)} KiB is larger than a file"
            yield Mistake("block_kib", message, f"write at most {self.mib_per_file * 1024}")
        if not self._folders(place):
            yield Mistake("folders", "nothing is to be measured", "name at least one folder")

    def _folders(self, place: Place) -> tuple[str, ...]:
        if self.folders is not None:
            return self.folders
        shared = [f"{mount}/{IMAGE_USER}" for mount in shared_mounts(place.resolved)]
        scratch = place.resolved.environment.storage.scratch
        has_scratch = scratch and place.allocation.facts.local_nvme_gb
        return (*shared, *([scratch.mount_path] if scratch and has_scratch else ()))


RECIPE = Recipe(
    "io-bench",
    "throughput of shared file systems and scratch, against what the accelerators need",
    (SHARED_FOLDER,),
    program="bench_io.py",
    together="sum_io.py",
    scripts=EACH_NODE,
    why_no_container=NODES_THEMSELVES,
    shared=("line_chart.py",),
    parameters=IoParameters,
    patience_seconds=3600,
    more="""\
All nodes write and read at the same time. The job fails if, with every block size, reading a folder
is slower than all processes need together. Pages are dropped from a node's cache before they are
read; the memory of a file system's servers cannot be emptied. `results-JOB/io.json` has the
numbers, `results-JOB/io.svg` a picture.""",
)
