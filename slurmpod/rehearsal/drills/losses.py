"""The losses that a training printed, step by step, across all of its restarts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_VALUE = r"\b[\"']?\s*[:=#]?\s*"
_STEP = re.compile(rf"\bstep{_VALUE}(\d+)", re.IGNORECASE)
_LOSS = re.compile(rf"\bloss{_VALUE}([-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf))\b", re.IGNORECASE)
_LABEL = re.compile(r"^(\d+): ")
"""The prefix that `srun --label` puts before a line: the rank that printed it."""

STEP_RESTARTED = "ResumeAction=RETRYSTEP"
"""Printed by HyperPod's plugin when a step restarts within its job (a project's field notes)."""


@dataclass(frozen=True)
class PrintedLosses:
    """Steps and their losses, as text, in the order in which one process printed them."""

    lines: Sequence[tuple[int, str]]

    @property
    def by_step(self) -> Mapping[int, set[str]]:
        """All losses printed for a step, across all runs."""
        found: defaultdict[int, set[str]] = defaultdict(set)
        for step, loss in self.lines:
            found[step].add(loss)
        return found

    @property
    def last_step(self) -> int:
        """The last step; 0 before the first one."""
        return max((step for step, _ in self.lines), default=0)

    @property
    def resumed_after(self) -> tuple[int, ...]:
        """The steps from which the training resumed, one for each time it went back."""
        return tuple(life[0] - 1 for life in self._lives()[1:])

    @property
    def steps_again(self) -> int:
        """How many steps were repeated: the work since the last checkpoint."""
        again, reached = 0, 0
        for life in self._lives():
            again += len({step for step in life if step <= reached})
            reached = max(reached, *life)
        return again

    def differing_from(self, undisturbed: PrintedLosses) -> tuple[int, ...]:
        """Return the steps whose losses differ from an undisturbed run's, or that it lacks."""
        ours, theirs = self.by_step, undisturbed.by_step
        steps = sorted(ours.keys() | theirs.keys())
        return tuple(step for step in steps if ours.get(step) != theirs.get(step))

    @property
    def contradictory(self) -> tuple[int, ...]:
        """The steps that were repeated with different losses."""
        return tuple(step for step, losses in sorted(self.by_step.items()) if len(losses) > 1)

    def _lives(self) -> list[list[int]]:
        """Return the steps of each run; a step number that does not increase starts a new run.

        If processes print without labels, each may print the same step.
        """
        lives: list[list[int]] = []
        first_steps = [step for step, _ in self.lines[:2]]
        is_alone = len(set(first_steps)) == len(first_steps)
        for step, _ in self.lines:
            before = lives[-1][-1] if lives else None
            if before is None or step < before or (step == before and is_alone):
                lives.append([])
            lives[-1].append(step)
        return lives


def printed_losses(log: str) -> PrintedLosses:
    """Return the losses in a log; of labelled lines, only those of one process."""
    found = list(_found(log))
    first = found[0][0] if found else ""
    return PrintedLosses([(step, loss) for label, step, loss in found if label == first])


def step_restarts(log: str) -> int:
    """Return how often a step restarted within its job."""
    return log.count(STEP_RESTARTED)


def _found(log: str) -> Iterator[tuple[str, int, str]]:
    for line in log.splitlines():
        step, loss, label = _STEP.search(line), _LOSS.search(line), _LABEL.match(line)
        if step and loss:
            yield label[1] if label else "", int(step[1]), loss[1]
