"""The sound sections of an environment with mistakes of form."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_json

from slurmpod.environment.environment import Environment
from slurmpod.reading.extends import EXTENDS
from slurmpod.reading.yaml_source import YamlSource

STAND_INS: dict[str, Any] = {
    "name": "name",
    "account": "123456789012",
    "region": "us-west-2",
    "network": {"zone": "us-west-2a"},
    "cluster": {
        "groups": [
            {"name": "controller", "role": "controller", "instance_type": "ml.m5.large"},
        ]
    },
}
"""What stands in for broken keys that every environment has. No finding may rest on them."""


def salvage(
    source: YamlSource, error: ValidationError | None
) -> tuple[Environment, frozenset[str]] | None:
    """Return an environment without the sections that have mistakes, and the keys of these.

    Mistakes are those in `error` and what is doubtful as YAML. None where all of it is doubtful.
    """
    details = error.errors(include_url=False) if error else []
    mistakes = {detail["loc"] for detail in details if not is_mere_consequence(detail)}
    mistakes |= source.doubtful
    if () in mistakes:
        return None
    broken = {str(path[0]) for path in mistakes}
    if not broken <= Environment.model_fields.keys():  # a misspelt key may be any that is not there
        broken |= Environment.model_fields.keys() - source.data.keys()
    sound = {key: value for key, value in source.data.items() if key not in broken | {EXTENDS}}
    needed = {key: value for key, value in STAND_INS.items() if key not in sound}
    environment = Environment.model_validate_json(to_json({**sound, **needed}))
    return environment, frozenset(broken)


def is_mere_consequence(detail: ErrorDetails) -> bool:
    """Tell whether a list is too short only because pydantic counts no entries with mistakes."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]
