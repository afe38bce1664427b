"""A step: one thing that a node needs, in a form that may be repeated at any time; its failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar


class StepFailed(Exception):
    """Something that waiting does not cure. `fix` tells the reader what to do about `reason`."""

    def __init__(self, reason: str, fix: str) -> None:
        self.reason = " ".join(reason.split())
        self.fix = fix
        super().__init__(f"{self.reason}; fix: {fix}")


class NotYet(StepFailed):
    """Something that may pass with time; the runner tries the step again until it times out."""


class CommandFailed(NotYet):
    """A command ended badly or took too long. On a starting node most of this passes."""


class Step(ABC):
    """One thing that a node needs. The runner decides when it runs, and how often it is tried.

    `apply` is tried again, from its start, as long as it raises NotYet and time remains. Steps
    never sleep: what they wait for they ask once, and say NotYet.
    """

    name: ClassVar[str]
    needs: tuple[str, ...] = ()
    """Names of steps that come first, where this node has them."""

    required: ClassVar[bool] = True
    """Whether the node is unusable without it; if not, its failure is only reported."""

    timeout_seconds: float | None = None
    """Longest time that it may take, tries included; None for the environment's limit."""

    def is_done(self) -> bool:
        """Return whether nothing is left to do; must not change anything."""
        return False

    @abstractmethod
    def apply(self) -> str:
        """Do it, and say in a few words what was done.

        Raises NotYet for what may pass with time, StepFailed for what will not.
        """
