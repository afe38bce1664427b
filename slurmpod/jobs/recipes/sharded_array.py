"""`sharded-array`: the files below a prefix, shared by the tasks of a job array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from slurmpod.jobs.cluster_rules import is_shared, shared_mounts
from slurmpod.jobs.recipes.recipe import SHARED_FOLDER, Mistake, Parameters, Place, Recipe

ARRAY = ("submit.sh", "array.sbatch", "array-after.sbatch")
MOST_TASKS = 1000
"""Tasks of an array: Slurm takes indices below MaxArraySize, which is 1001 by default."""


class ShardParameters(Parameters):
    """What is worked on, by how many."""

    prefix: Annotated[
        str,
        Field(
            pattern=r"^(?:s3://[a-z0-9.-]{3,63}/[^\s'\"]*|/[^\s'\"]+)$",
            max_length=1000,
            examples=["s3://my-bucket/raw/"],
        ),
    ] = "/fsx/data"
    """A folder that all nodes see, or `s3://BUCKET/PREFIX`; listing it needs `aws`."""

    tasks: Annotated[int, Field(ge=1, le=MOST_TASKS)] = 4
    """Tasks of the array, each of which takes its share of the files. At most as many run at once
    as the job has nodes."""

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse a folder that nodes do not share."""
        if self.prefix.startswith("/") and not is_shared(place.resolved, self.prefix):
            mounts = ", ".join(shared_mounts(place.resolved)) or "there are none"
            message = f"{self.prefix} is on no file system that all nodes share"
            yield Mistake("prefix", message, f"name a folder below one of them: {mounts}")


RECIPE = Recipe(
    "sharded-array",
    "an array of tasks that share the files below a prefix, for your work.py",
    (SHARED_FOLDER, "the AWS CLI on the nodes, where the files are in S3"),
    program="run_shard.py",
    scripts=ARRAY,
    shared=("shards.py",),
    parameters=ShardParameters,
    more="""\
Task i of n takes every n-th file, starting with the i-th, so each file is processed by one task,
once; only a file in progress when a node is lost starts again. `bash submit.sh` submits the array,
and a job after it that lists the remaining files and prints the command that runs only the failed
tasks. That job fails while files remain. Results of tasks are in `done/`: with another number of
`tasks` the array continues after them. Files below another prefix need another folder.""",
)
