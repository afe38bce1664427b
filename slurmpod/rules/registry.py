"""The subject of rules for environments, and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slurmpod import rulebook
from slurmpod.problems import Where, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.value import Value

Checker = Callable[[Resolved], Iterable["Finding"]]

Rule = rulebook.Rule["Checker"]

LIFECYCLE_MODE = ("edition", "lifecycle")
"""Sections from which the lifecycle mode follows, and other defaults of the edition."""

PRIVATE_SUBNETS = ("cluster", "monitoring", "network", "services", "slurm", "storage")
"""Sections from which the private subnets follow: all that has addresses in them."""


class Finding(Value):
    """One place that breaks a rule.

    `fix` replaces the rule's own where the finding knows better. `at_key` points at the key of
    `path`, not at its value. `where` is the exact place when that is in another file, which the
    environment names at `path`.
    """

    path: YamlPath
    message: str
    fix: str = ""
    at_key: bool = False
    where: Where | None = None


class Area(rulebook.Rulebook["Checker"]):
    """The rules of one area of an environment.

    In a file with mistakes of form, rules that read a section with some are silent.
    """
