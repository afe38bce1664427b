"""The user's settings of a recipe, from a YAML file; all mistakes in it at once, with lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_json

from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.recipes.recipe import Parameters, Place, Recipe
from slurmpod.problems import InvalidEnvironment, Problem, Severity, Where, in_file_order
from slurmpod.reading.phrases import phrase
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.reading.yaml_source import YamlSource, read_yaml

RULE = "ENV-004"
"""The rule of values that cannot be."""

AS_JSON = {"True": "true", "False": "false", "None": "null"}
"""Python's words for values, and JSON's, which are as long."""

OF_PYTHON = re.compile("|".join(AS_JSON))


def chosen_parameters(recipe: Recipe, place: Place, file: Path | None) -> Parameters:
    """Return the settings of the file, or the defaults without one.

    Raises InvalidEnvironment with the mistakes in the file, and JobRefused where the defaults do
    not fit the place.
    """
    if file is None:
        return _fitting_defaults(recipe, place)
    source = _read(file)
    chosen = _checked(recipe, source)
    problems = [
        Problem(RULE, Severity.ERROR, source.where((each.field,)), each.message, each.fix)
        for each in chosen.mistakes(place)
    ]
    if problems:
        raise InvalidEnvironment(in_file_order(problems))
    return chosen


def _fitting_defaults(recipe: Recipe, place: Place) -> Parameters:
    chosen = recipe.parameters()
    for mistake in chosen.mistakes(place):
        raise JobRefused(f"{mistake.field}: {mistake.message}", mistake.fix)
    return chosen


def _read(file: Path) -> YamlSource:
    """Return a file's data; a file with only comments is empty."""
    try:
        text = read_text(file)
    except Unreadable as reason:
        where = Where(str(file), reason.line)
        unread = Problem("ENV-001", Severity.ERROR, where, reason.message, reason.fix)
        raise InvalidEnvironment([unread]) from None
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
        return YamlSource(str(file), {})
    source = read_yaml(str(file), text)
    if file.suffix == ".json" and not source.problems:
        source.problems += _no_json(str(file), text)
    return source


def _no_json(file: str, text: str) -> Iterator[Problem]:
    """Yield values that are valid in YAML but not in JSON."""
    while True:
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            where = Where(file, error.lineno, error.colno)
            word = OF_PYTHON.match(text, error.pos)
            if not word:
                message = f"this is not JSON: {error.msg}"
                fix = "correct it, or give the file a name that ends in .yaml"
                yield Problem("ENV-001", Severity.ERROR, where, message, fix)
                return
            message = f"{word[0]} is Python, and not JSON"
            yield Problem("ENV-001", Severity.ERROR, where, message, f"write {AS_JSON[word[0]]}")
            text = text[: error.pos] + AS_JSON[word[0]] + text[word.end() :]
        else:
            return


def _checked(recipe: Recipe, source: YamlSource) -> Parameters:
    found = list(source.problems)
    try:
        chosen = recipe.parameters.model_validate_json(to_json(source.data))
    except ValidationError as error:
        details = error.errors(include_url=False)
        found += [_phrase(each, source, recipe.parameters) for each in details]
    if found:
        raise InvalidEnvironment(in_file_order(found))
    return chosen


def _phrase(detail: ErrorDetails, source: YamlSource, parameters: type[Parameters]) -> Problem:
    problem = phrase(detail, source, parameters)
    if detail["type"] != "extra_forbidden":
        return problem
    key = str(detail["loc"][-1])
    if lacking := parameters.lacking.get(key):
        return replace(problem, message=f"{key}: {lacking.why}", fix=lacking.fix)
    name = parameters.renamed.get(key)
    return replace(problem, fix=f"it was renamed: write {name}") if name else problem
