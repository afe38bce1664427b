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
    """One place that breaks a rule; `fix` replaces the rule's own where it is given."""

    place: Place
    message: str
    fix: str = ""


class Topic(rulebook.Rulebook["Checker"]):
    """Rules about one thing that a script alone shows."""


class ClusterTopic(rulebook.Rulebook["JudgeOnCluster"]):
    """Rules that hold a script against the cluster of an environment."""
