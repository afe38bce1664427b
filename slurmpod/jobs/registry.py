"""The subject of rules for batch scripts, and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from slurmpod import rulebook
from slurmpod.jobs.script import Script
from slurmpod.jobs.shell import Place
from slurmpod.value import Value

if TYPE_CHECKING:
    from slurmpod.resolve import Resolved

Checker = Callable[[Script], Iterable["ScriptFinding"]]
JudgeOnCluster = Callable[[Script, "Resolved"], Iterable["ScriptFinding"]]

Rule = rulebook.Rule[Any]
"""A rule of either kind."""


class ScriptFinding(Value):
    """A violation of a rule; `fix` overrides the rule's own."""

    place: Place
    message: str
    fix: str = ""


class Topic(rulebook.Rulebook["Checker"]):
    """Rules on one subject that need only the script."""


class ClusterTopic(rulebook.Rulebook["JudgeOnCluster"]):
    """Rules that check a script against the cluster of an environment."""
