"""`sweep`: trials with many values of some parameters, in the tasks of a job array."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from itertools import count as count_up
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.jobs.recipes.recipe import SHARED_FOLDER, Mistake, Parameters, Place, Recipe
from slurmpod.jobs.recipes.sharded_array import ARRAY, MOST_TASKS

MOST_TRIALS = 100_000
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=63, examples=["width"])]
Choice = Annotated[str | int, Field(union_mode="left_to_right")]


class SweepParameters(Parameters):
    """What is tried, and what is good."""

    values: Annotated[
        dict[Name, Annotated[tuple[Choice, ...], Field(min_length=1)]], Field(min_length=1)
    ] = Field(default={"learning_rate": ("0.001", "0.01", "0.1"), "width": (64, 256)})
    """The values of each parameter, by its name; fractions reach a trial as text."""

    trials: Annotated[int | None, Field(ge=1, le=MOST_TRIALS)] = None
    """Number of combinations to try, chosen at random; all of them if this is left out."""

    seed: Annotated[int, Field(ge=0, le=2**31)] = 0
    """Seed of the random choice: the same seed gives the same trials."""

    goal: Literal["minimize", "maximize"] = "minimize"
    """Whether a low score is good, or a high one."""

    tasks: Annotated[int, Field(ge=1, le=MOST_TASKS)] = 4
    """Tasks of the array, which share the trials. At most as many run at once as the job has
    nodes."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return what a task has to know beside the points."""
        del place
        return ("--goal", self.goal, "--tasks", str(self.tasks))

    def files(self, place: Place) -> Mapping[str, str]:
        """Return the values of every trial."""
        del place
        lines = ",\n".join(f"  {json.dumps(point)}" for point in self._points())
        return {"points.json": f"[\n{lines}\n]\n"}

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Refuse more trials than there are combinations, and far too many of them."""
        del place
        count = self._combinations()
        if self.trials is None and count > MOST_TRIALS:
            message = f"these are {count} combinations"
            yield Mistake("values", message, f"write 'trials:' with at most {MOST_TRIALS}")
        if self.trials and self.trials > count:
            message = f"there are no more than {count} combinations of the values"
            yield Mistake("trials", message, f"write at most {count}, or leave it out for all")

    def _combinations(self) -> int:
        return math.prod(map(len, self.values.values()))

    def _points(self) -> Iterator[dict[str, str | int]]:
        """Yield the whole grid, or some of it; combinations are numbered, as there may be many."""
        count = self._combinations()
        if self.trials is None:
            yield from (dict(zip(self.values, each, strict=True)) for each in self._grid())
            return
        drawn: dict[int, None] = {}
        for turn in count_up():
            if len(drawn) == self.trials:
                break
            digest = hashlib.sha256(f"{self.seed} {turn}".encode()).digest()
            drawn[int.from_bytes(digest) % count] = None
        yield from map(self._point, drawn)

    def _grid(self) -> Iterator[tuple[str | int, ...]]:
        return product(*self.values.values())

    def _point(self, number: int) -> dict[str, str | int]:
        point = {}
        for name, values in self.values.items():
            number, place = divmod(number, len(values))
            point[name] = values[place]
        return point


RECIPE = Recipe(
    "sweep",
    "trials with a grid of values, or a random choice of it, for your trial.py; the best is shown",
    (SHARED_FOLDER,),
    program="run_trials.py",
    scripts=ARRAY,
    shared=("shards.py",),
    parameters=SweepParameters,
    more="""\
`bash submit.sh` submits an array whose tasks share the trials, and a job after it that prints all
results, best first, and writes them to `sweep.json`. A trial that fails, or whose score is not a
finite number, is not done: the job after the array then fails, and prints the command that runs
only the tasks with such trials. Results belong to their values: if you render other values into the
same folder, only new ones are tried, and only the rendered ones are shown.""",
)
