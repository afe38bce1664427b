"""Facts as JSON: saved where credentials are, judged where people, or a pipeline, look at them."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from slurmpod.preflight.facts import Facts
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved

_FACTS = TypeAdapter(Facts)


def to_json(facts: Facts) -> bytes:
    """Return facts as text for a file; it holds no secret, but tells of the account."""
    return _FACTS.dump_json(facts, indent=2)


def from_file(path: Path, resolved: Resolved) -> Facts:
    """Read facts of this environment; raises WorkFailed for anything else."""
    try:
        facts = _FACTS.validate_json(path.read_bytes())
    except OSError as error:
        raise WorkFailed(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise WorkFailed(
            f"{path} holds no facts of slurmpod preflight: {place} {first['msg']}; "
            "gather them again"
        ) from error
    if (facts.environment, facts.region) != (resolved.name, resolved.region):
        raise WorkFailed(
            f"{path} holds facts of {facts.environment} in {facts.region}, "
            f"not of {resolved.name} in {resolved.region}"
        )
    return facts
