"""The interface of a step, one task in setting up a node that is safe to repeat; its failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar


class StepFailed(Exception):
    """A failure that waiting does not cure. `fix` says what to do about `reason`."""

    def __init__(self, reason: str, fix: str) -> None:
        self.reason = " ".join(reason.split())
        self.fix = fix
        super().__init__(f"{self.reason}; fix: {fix}")


class NotYet(StepFailed):
    """A condition that may pass; the runner tries the step again until it times out."""


class CommandFailed(NotYet):
    """A command failed or timed out. On a starting node most of these failures pass."""


class Step(ABC):
    """One task in setting up a node. The runner decides when it runs, and how often it is tried.

    `apply` is repeated from its start as long as it raises NotYet and time remains. Steps never
    sleep: they check once for what they wait for, and raise NotYet.
    """

    name: ClassVar[str]
    needs: tuple[str, ...] = ()
    """Names of the steps that must run before, if this node has them."""

    required: ClassVar[bool] = True
    """Whether the node is unusable without it; if not, a failure is only reported."""

    timeout_seconds: float | None = None
    """The time limit in seconds, retries included; None for the environment's limit."""

    def is_done(self) -> bool:
        """Return whether nothing is left to do, without changing anything."""
        return False

    @abstractmethod
    def apply(self) -> str:
        """Run it, and return a short message with the result.

        Raises NotYet for what may pass with time, StepFailed for what will not.
        """
