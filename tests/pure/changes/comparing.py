"""What the tests of changes share: two environments, and what is said between them."""

from __future__ import annotations

from typing import Any

from slurmpod.changes.change import Change
from slurmpod.changes.compare import changes
from slurmpod.deployment_record import read_record, record
from slurmpod.environment.base import Kind
from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import sound_data


def environment(**sections: Any) -> Environment:
    return Environment.model_validate({**sound_data(), **sections}, strict=False)


def between(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    return changed(resolve(Reading(environment(**old))), resolve(Reading(environment(**new))))


def changed(deployed: Resolved, wanted: Resolved) -> list[Change]:
    """Return the changes between what a deployment would record and another environment."""
    return list(changes(read_record(record(deployed)), wanted))


def summary(found: list[Change]) -> list[tuple[str, Kind]]:
    return [(change.path, change.effect.kind) for change in found]
