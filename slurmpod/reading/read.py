"""An environment file and all files that it names -> Reading: the only place that reads them.

First the file is merged with its bases, which the models do not know about. Then pydantic finds the
mistakes, and `phrases` describes them with the allowed values.
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

    `environment` is None if the file has mistakes of form; rules can still check what `remains`
    without the sections that have them. `policies` are by path as written, `hooks` by path in the
    bundle. Files that could not be read are missing; `problems` says why.
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
    """A file without its `broken` sections, with placeholders for required ones."""

    reading: Reading
    broken: frozenset[str]


def read(path: Path) -> Reading:
    """Read an environment and the files that it names; never raises for their content."""
    try:
        text = read_text(path, may_be_pipe=True)
    except Unreadable as reason:
        source = YamlSource(str(path))
        source.refuse(Where(str(path), reason.line), reason.message, reason.fix)
        return Reading(None, source, tuple(source.problems))
    return read_as(str(path), text)


def read_as(file: str, text: str) -> Reading:
    """Read `text` as the content of `file`: relative paths start from there."""
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
    """Return a model with these fields and the common ones.

    Pydantic then builds only their validators, which saves a tenth of `validate`. Each is built
    once, however many files with other sections are read.
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
    """Yield the section type of a field, also of optional fields and lists."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Section):
            yield kind


def _with_files(environment: Environment, source: YamlSource) -> Reading:
    """Read all files that the environment names, relative to the file that names them."""
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
    """Return problems for pydantic's findings, without consequences of other problems."""
    from slurmpod.reading.phrases import phrase  # only needed on mistakes: a tenth of the start-up

    said = {_line(problem) for problem in source.problems}
    details = [each for each in error.errors(include_url=False) if not is_mere_consequence(each)]
    in_words = [phrase(detail, source) for detail in details[: SHOWN + 1]]
    found = [problem for problem in in_words if _line(problem) not in said]
    return first_problems(found, SHOWN, len(details))


SHOWN = 100
"""Maximum of mistakes of form that are reported individually."""


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
"""Placeholders for broken required keys. No finding may depend on them."""


def salvage(
    source: YamlSource, error: ValidationError | None
) -> tuple[Environment, frozenset[str]] | None:
    """Return an environment without the sections that have mistakes, and the keys of these.

    Mistakes are those in `error` and doubtful YAML. None if the whole file is doubtful.
    """
    details = error.errors(include_url=False) if error else []
    mistakes = {detail["loc"] for detail in details if not is_mere_consequence(detail)}
    mistakes |= source.doubtful
    if () in mistakes:
        return None
    broken = {str(path[0]) for path in mistakes}
    if not broken <= Environment.model_fields.keys():  # a misspelt key may be any missing one
        broken |= Environment.model_fields.keys() - source.data.keys()
    left_out = broken | {EXTENDS}
    sound = {key: value for key, value in source.data.items() if key not in left_out}
    needed = {key: value for key, value in STAND_INS.items() if key not in sound}
    return validated({**sound, **needed}), frozenset(broken)


def is_mere_consequence(detail: ErrorDetails) -> bool:
    """Return whether a list is too short only because pydantic skips entries with mistakes."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]
