"""An environment file and all files that it names -> Reading: the only place that reads them.

First the file is merged into what it extends, of which the models know nothing. Then pydantic finds
the mistakes, and `phrases` says them in words of this project, with what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError, create_model
from pydantic_core import ErrorDetails, to_json

from slurmpod.environment.base import Section
from slurmpod.environment.environment import Environment
from slurmpod.problems import Problem, Where, first_problems, in_file_order
from slurmpod.reading.extends import EXTENDS, with_bases
from slurmpod.reading.hooks import read_hooks
from slurmpod.reading.own_scripts import OwnScripts, read_own_scripts
from slurmpod.reading.policy_files import PolicyDocument, read_policy_files
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.reading.users_file import ListedUser, read_users_file
from slurmpod.reading.yaml_source import YamlSource, read_yaml
from slurmpod.value import Value


class Reading(Value):
    """The content of a user's files about one environment.

    `environment` is None where the file has mistakes of form; what `remains` without the sections
    that have them can be judged all the same. `policies` go by the paths that the environment
    writes, `hooks` by those in the bundle. Files that could not be read are missing; `problems`
    says why.
    """

    environment: Environment | None
    source: YamlSource = field(default_factory=lambda: YamlSource(""))
    problems: tuple[Problem, ...] = ()
    users: tuple[ListedUser, ...] = ()
    own_scripts: OwnScripts | None = None
    policies: Mapping[str, PolicyDocument] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    remains: PartialReading | None = None


class PartialReading(Value):
    """A file without its `broken` sections; something else stands in for those that it needs."""

    reading: Reading
    broken: frozenset[str]


def read(path: Path) -> Reading:
    """Read an environment and the files that it names; never raises for what files can hold."""
    try:
        text = read_text(path, may_be_pipe=True)
    except Unreadable as reason:
        source = YamlSource(str(path))
        source.refuse(Where(str(path), reason.line), reason.message, reason.fix)
        return Reading(None, source, tuple(source.problems))
    return read_as(str(path), text)


def read_as(file: str, text: str) -> Reading:
    """Read `text` as if it were in `file`: what it names is looked for beside that."""
    source = with_bases(read_yaml(file, text))
    if source.data is None:
        return Reading(None, source, in_file_order(source.problems))
    try:
        environment = validated(source.data)
    except ValidationError as error:
        return _with_mistakes(source, error)
    return _with_mistakes(source) if source.problems else _with_files(environment, source)


def validated(data: Any) -> Environment:
    """Return the environment in `data`; raises pydantic's ValidationError with every mistake."""
    keys = data.keys() if isinstance(data, Mapping) else ()
    form = _form(frozenset(Environment.model_fields.keys() & keys))
    found = form.model_validate_json(to_json(data))
    return Environment.model_construct(found.model_fields_set, **dict(found)).in_its_edition()


@cache
def _form(keys: frozenset[str]) -> type[Section]:
    """Return an environment with these fields, and those that all have.

    Pydantic builds the validators of its sections alone: that saves a tenth of `validate`. Each is
    built once, however many files with other sections are read.
    """
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in Environment.model_fields.items()
        if name in keys or field.is_required()
    }
    for annotation, _ in fields.values():
        for section in _sections_in(annotation):
            section.model_rebuild()
    return create_model("Environment", __base__=Section, **fields)


def _sections_in(annotation: Any) -> Iterator[type[Section]]:
    """Yield the section that a field takes, also where it may be None, or is a list."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Section):
            yield kind


def _with_files(environment: Environment, source: YamlSource) -> Reading:
    """Read all files that the environment names, relative to the file that says so."""
    scripts = read_own_scripts(environment, source)
    users = read_users_file(environment, source)
    policies = read_policy_files(environment, source)
    hooks = read_hooks(environment, source)
    return Reading(
        environment,
        source,
        (*scripts.problems, *users.problems, *policies.problems, *hooks.problems),
        users.users,
        scripts.scripts,
        policies.documents,
        hooks.scripts,
    )


def _with_mistakes(source: YamlSource, error: ValidationError | None = None) -> Reading:
    problems = [*source.problems, *(_in_words(error, source) if error else ())]
    remains = None
    if salvaged := salvage(source, error):
        environment, broken = salvaged
        remains = PartialReading(_with_files(environment, source), broken)
    return Reading(None, source, in_file_order(problems), remains=remains)


def _in_words(error: ValidationError, source: YamlSource) -> list[Problem]:
    """Say the findings of pydantic, but for what follows from other problems."""
    from slurmpod.reading.phrases import phrase  # only needed on mistakes: a tenth of the start-up

    said = {_line(problem) for problem in source.problems}
    details = [each for each in error.errors(include_url=False) if not is_mere_consequence(each)]
    in_words = [phrase(detail, source) for detail in details[: SHOWN + 1]]
    found = [problem for problem in in_words if _line(problem) not in said]
    return first_problems(found, SHOWN, len(details))


SHOWN = 100
"""Mistakes of form that are told one by one: nobody reads more of them."""


def _line(problem: Problem) -> tuple[str, int]:
    return problem.where.file, problem.where.line


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
    left_out = broken | {EXTENDS}
    sound = {key: value for key, value in source.data.items() if key not in left_out}
    needed = {key: value for key, value in STAND_INS.items() if key not in sound}
    return validated({**sound, **needed}), frozenset(broken)


def is_mere_consequence(detail: ErrorDetails) -> bool:
    """Return whether a list is too short only because pydantic counts no entries with mistakes."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]
