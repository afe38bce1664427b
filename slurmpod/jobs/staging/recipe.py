"""The job that stages files, or removes them: its parameters, which the command computes."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.jobs.recipes.recipe import Parameters, Place, Recipe

INDEX = "index.txt"
MOST_STREAMS = 8
"""Files that a node copies at a time: each one is a process of the AWS CLI, which takes a core."""


class StageParameters(Parameters):
    """The data to stage and its destination; without a source the destination is removed."""

    at: str
    """The folder on shared storage."""

    source: str = ""
    """An S3 prefix."""

    index: str = ""
    """The text of an index, in place of a prefix."""

    region: str = ""
    """Endpoint for requests to S3."""

    @property
    def evicts(self) -> bool:
        """Whether to remove files."""
        return not (self.source or self.index)

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the files and their source."""
        if self.evicts:
            return ("--at", self.at)
        source = INDEX if self.index else self.source
        streams = str(_streams(place))
        whence = ("--source", source, "--region", self.region)
        return ("--at", self.at, *whence, "--streams", streams)

    def files(self, place: Place) -> Mapping[str, str]:
        """Return the index, if any."""
        del place
        return {INDEX: self.index} if self.index else {}

    def for_scripts(self, place: Place) -> Mapping[str, object]:
        """Return the resources of the job."""
        nodes = place.allocation.nodes
        return {
            "evict": self.evicts,
            "streams": 1 if self.evicts else _streams(place),
            "nodes_range": f"1-{nodes}" if nodes > 1 and not self.evicts else "1",
        }


def _streams(place: Place) -> int:
    return min(MOST_STREAMS, place.allocation.facts.cores)


STAGE = Recipe(
    "stage",
    "files from S3, or of an index, on storage that all nodes share",
    ("the AWS CLI on the nodes, for what is in S3",),
    scripts=("stage.sbatch",),
    parameters=StageParameters,
)
