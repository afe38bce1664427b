"""A step: one thing that a node needs, in a form that may be repeated at any time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar


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
        """Tell whether nothing is left to do; must not change anything."""
        return False

    @abstractmethod
    def apply(self) -> str:
        """Do it, and say in a few words what was done.

        Raises NotYet for what may pass with time, StepFailed for what will not.
        """
