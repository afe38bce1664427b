"""Facts as JSON: saved where there are credentials, checked by people or a pipeline elsewhere."""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.subjects import QUESTIONS
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved

OWN = tuple(each for each in fields(Facts) if each.name != "answers")


def _type_of(question: Question[Any]) -> Any:
    return get_type_hints(question.ask)["return"] | None


_TYPES = get_type_hints(Facts)
_Saved: Any = make_dataclass(
    "Facts",
    [
        *((each.name, _TYPES[each.name], field(default=each.default)) for each in OWN),
        *((each.field, _type_of(each), field(default=None)) for each in QUESTIONS),
    ],
)
"""The saved form of facts: a field for each answer."""

_SAVED: TypeAdapter[Any] = TypeAdapter(_Saved)


def to_json(facts: Facts) -> bytes:
    """Return facts as text for a file; it contains no secret, but details of the account."""
    own = {each.name: getattr(facts, each.name) for each in OWN}
    answers = {question.field: facts[question] for question in QUESTIONS}
    return _SAVED.dump_json(_Saved(**own, **answers), indent=2)


def from_file(path: Path, resolved: Resolved) -> Facts:
    """Read facts of this environment; raises WorkFailed for anything else."""
    try:
        facts = _of_saved(_SAVED.validate_json(path.read_bytes()))
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


def _of_saved(saved: Any) -> Facts:
    own = {each.name: getattr(saved, each.name) for each in OWN}
    answers = {question: getattr(saved, question.field) for question in QUESTIONS}
    known = {question: answer for question, answer in answers.items() if answer is not None}
    return Facts(**own, answers=known)
