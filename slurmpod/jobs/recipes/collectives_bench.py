"""`collectives-bench`: how fast processes exchange, against what the network allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.jobs.recipes.recipe import (
    PYTORCH,
    SHARED_FOLDER,
    WITHOUT_PYTORCH,
    Fraction,
    Mistake,
    Parameters,
    Place,
    Recipe,
)

Operation = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]


class BenchParameters(Parameters):
    """What is measured, and what is too slow."""

    operations: tuple[Operation, ...] = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    """Collectives that are measured."""

    least_kib: Annotated[int, Field(ge=1, le=67_108_864)] = 64
    """Size of the smallest message, in KiB; each following one is four times as large."""

    most_kib: Annotated[int, Field(ge=1, le=67_108_864)] = 1_048_576
    """Size of the largest message, in KiB."""

    repeats: Annotated[int, Field(ge=1, le=10_000)] = 20
    """Exchanges of each size; the mean of their times counts."""

    least_share_of_bound: Annotated[Fraction, Field(ge=0, le=1)] = 0.7
    """Share of the bound that all-reduce must reach with the largest messages. Only with EFA."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the place's facts, and all that was chosen."""
        allocation = place.allocation
        facts = ["--device", place.device, "--per-node", str(allocation.processes)]
        if allocation.facts.efa_interfaces and place.device != "cpu":
            facts += ["--efa-gigabits", str(allocation.facts.network_gigabits)]
        return (*facts, *super().arguments(place))

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse sizes of which there are none, and a single process."""
        if self.least_kib > self.most_kib:
            message = f"the largest message, {self.most_kib} KiB, is below the smallest"
            yield Mistake("most_kib", message, f"write {self.least_kib} or more")
        if not self.operations:
            yield Mistake("operations", "nothing is to be measured", "name at least one collective")
        if place.processes == 1:
            message = "the job has one process, which exchanges nothing"
            yield Mistake("operations", message, "give the job more nodes")


RECIPE = Recipe(
    "collectives-bench",
    "bandwidth of collectives over message sizes, against the bound of the network",
    (SHARED_FOLDER, PYTORCH),
    program="bench_collectives.py",
    scripts=("measurement.sbatch", "step.sh"),
    shared=("line_chart.py", "processes.py"),
    parameters=BenchParameters,
    unsuitable=WITHOUT_PYTORCH,
    more="""\
NCCL is measured through PyTorch. Nodes without accelerators use gloo and have no bound. The bound
of N nodes with g processes each is `network x (n-1)/n x N/(N-1)`, with n = N g, because (N-1)/N of
a message must enter each node; an all-to-all has 1/g of it. `network` is EC2's figure for the type.
With EFA the job fails if all-reduce stays too far below the bound, or if NCCL's log shows sockets
instead of EFA. `collectives-JOB.json` has the numbers, `collectives-JOB.svg` a picture. Tested on
CPUs, and with NCCL in one process on one GPU, where nothing is exchanged.""",
)
