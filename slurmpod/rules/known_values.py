"""Rules for values that are unknown to this version of slurmpod, but may exist by now."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.base import Section
from slurmpod.environment.descriptions import field_at, known_in
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Area, Finding

NEW = Area("NEW", "Values that AWS has added since")

FACTS = "slurmpod/data/facts.csv"


@NEW.rule(
    "NEW-001",
    "Every value is known",
    why="AWS adds values over time. An unknown value of the right form is passed on unchanged: "
    "if AWS has it, it works, but slurmpod does not check its consequences. If it is "
    "mistyped, AWS refuses it during the deployment.",
    fix="write a known value, or accept the warning where AWS has added this one",
    source=FACTS,
    severity=Severity.WARNING,
)
def _values_are_known(resolved: Resolved) -> Iterator[Finding]:
    for path, value in _written(resolved.environment, ()):
        field = field_at(path)
        known = known_in(field) if field else None
        if known is None or known.knows(value):
            continue
        of = known.fact
        message = f"'{value}' was not known (as of {of.when})"
        if str(value) in of.left_out:
            message = f"AWS has '{value}', but slurmpod does not know its consequences"
        guess = did_you_mean(str(value), of.values)
        fix = f"known are {', '.join(of.values)}; accept the warning where AWS has added it"
        yield Finding(path, message, f"{guess} {fix}".strip())


def _written(value: object, path: YamlPath) -> Iterator[tuple[YamlPath, str | int]]:
    """Yield every text and number that the file sets, with its path."""
    if isinstance(value, Section):
        for name in value.model_fields_set:
            yield from _written(getattr(value, name), (*path, name))
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            yield from _written(each, (*path, index))
    elif isinstance(value, str | int):
        yield path, value
