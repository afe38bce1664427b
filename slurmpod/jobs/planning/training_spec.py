"""The user's training, from command-line options; all mistakes in them at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

from slurmpod.environment.suggestion import did_you_mean
from slurmpod.jobs.planning.compute import TOKENS_PER_PARAMETER
from slurmpod.jobs.planning.models import MODELS, Model, count, model_of_size
from slurmpod.value import Value

SIZES = (1e6, 1e13)
"""The least and the most parameters that a plan is made for."""


class PlanRefused(Exception):
    """Options of which no plan can be made: each mistake, with what is allowed."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


class Limits(Value):
    """What a number may be."""

    least: float
    most: float
    is_whole: bool = True
    is_needed: bool = False

    def __str__(self) -> str:
        """Return `a whole number from 1 to 64`."""
        kind = "a whole number" if self.is_whole else "a number"
        return f"{kind} from {self.least:.15g} to {self.most:.15g}"


NUMBERS = {
    "sequence": Limits(1, 4_194_304, is_needed=True),
    "global-batch": Limits(1, 10_000_000, is_needed=True),
    "tokens": Limits(1, 1e18),
    "steps": Limits(1, 1e12),
    "learning-rate": Limits(1e-12, 10, is_whole=False),
    "at-batch": Limits(1, 10_000_000),
    "utilization": Limits(0.01, 1, is_whole=False),
    "node-mtbf-hours": Limits(1, 10_000_000, is_whole=False),
}
"""Options that take a number, by name."""

NODES = Limits(1, 100_000)


class TrainingSpec(Value):
    """A training: `batch` sequences of `sequence` tokens for each step of the optimizer.

    `rate` is a learning rate that was good for batches of `rate_batch`; 0 without one.
    `utilization` is the share of the peak that the user has seen; else it follows from the mesh.
    """

    model: Model
    sequence: int
    batch: int
    steps: int
    is_usual_length: bool
    rate: float
    rate_batch: int
    utilization: float | None
    node_mtbf_hours: float | None

    @property
    def tokens(self) -> int:
        """Tokens of the whole training."""
        return self.steps * self.sequence * self.batch


def spec_of(typed: Mapping[str, str | None]) -> TrainingSpec:
    """Return what options say, by their names. Raises PlanRefused."""
    mistakes: list[str] = []
    model = _model(typed.get("model"), mistakes)
    numbers = {
        name: number(name, each, typed.get(name), mistakes) for name, each in NUMBERS.items()
    }
    if typed.get("tokens") and typed.get("steps"):
        mistakes.append("--tokens and --steps both say how long it is: give one of them")
    if bool(typed.get("learning-rate")) != bool(typed.get("at-batch")):
        mistakes.append("--learning-rate and --at-batch belong together: give both, or none")
    if mistakes or model is None:
        raise PlanRefused(mistakes)
    sequence, batch = int(numbers["sequence"] or 0), int(numbers["global-batch"] or 0)
    tokens = numbers["tokens"] or model.parameters * TOKENS_PER_PARAMETER
    return TrainingSpec(
        model=model,
        sequence=sequence,
        batch=batch,
        steps=int(numbers["steps"] or math.ceil(tokens / (sequence * batch))),
        is_usual_length=not (numbers["tokens"] or numbers["steps"]),
        rate=numbers["learning-rate"] or 0,
        rate_batch=int(numbers["at-batch"] or 0),
        utilization=numbers["utilization"],
        node_mtbf_hours=numbers["node-mtbf-hours"],
    )


def _model(text: str | None, mistakes: list[str]) -> Model | None:
    allowed = f"a number of parameters, such as 7B, or one of {', '.join(MODELS)}"
    if not text:
        mistakes.append(f"--model is missing: give {allowed}")
        return None
    if known := MODELS.get(text.lower()):
        return known
    parameters = count(text)
    if parameters is not None and SIZES[0] <= parameters <= SIZES[1]:
        return model_of_size(parameters)
    hint = did_you_mean(text.lower(), MODELS)
    mistakes.append(f"--model is '{text}': give {allowed}{f' ({hint})' if hint else ''}")
    return None


def number(name: str, limits: Limits, text: str | None, mistakes: list[str]) -> float | None:
    """Return what an option says; None where it says nothing, or what is then a mistake."""
    if text is None:
        if limits.is_needed:
            mistakes.append(f"--{name} is missing: give {limits}")
        return None
    value = count(text)
    value = _float(text) if value is None else value
    if limits.least <= value <= limits.most and not (limits.is_whole and value % 1):
        return value
    mistakes.append(f"--{name} is '{text}': give {limits}")
    return None


def _float(text: str) -> float:
    """Return the number that a text is; one that is within no limits for any other text."""
    try:
        return float(text)
    except ValueError:
        return math.nan
