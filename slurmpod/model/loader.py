"""An environment file -> Environment, or every problem of its form at once.

First it is merged into what it extends, of which the models know nothing. Then pydantic finds the
mistakes, and `phrases` says them in words of this project, with what is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import to_json

from slurmpod.model.environment import Environment
from slurmpod.model.extends import with_bases
from slurmpod.model.text_file import Unreadable, read_text
from slurmpod.model.yaml_source import YamlSource, read_yaml
from slurmpod.problems import Problem, Where, in_file_order

if TYPE_CHECKING:
    from pathlib import Path

    from slurmpod.model.salvage import Salvaged


@dataclass(frozen=True)
class Loaded:
    """What a file held: an environment, or None and the problems of its form.

    With problems of form, `salvaged` is what rules can look at all the same.
    """

    source: YamlSource
    environment: Environment | None
    problems: tuple[Problem, ...]
    salvaged: Salvaged | None = None


def load(path: Path) -> Loaded:
    """Read and check one environment file; never raises for what a file can hold."""
    try:
        text = read_text(path)
    except Unreadable as reason:
        source = YamlSource(str(path))
        source.refuse(Where(str(path)), reason.message, reason.fix)
        return Loaded(source, None, tuple(source.problems))
    return load_text(str(path), text)


def load_text(file: str, text: str) -> Loaded:
    """Check the text of an environment file; `file` is the name that problems show.

    A file that the text extends is looked for beside `file`.
    """
    source = with_bases(read_yaml(file, text))
    if source.data is None:
        return Loaded(source, None, in_file_order(source.problems))
    try:
        environment = Environment.model_validate_json(to_json(source.data))
    except ValidationError as error:
        return _with_mistakes(source, error)
    return _with_mistakes(source) if source.problems else Loaded(source, environment, ())


def _with_mistakes(source: YamlSource, error: ValidationError | None = None) -> Loaded:
    from slurmpod.model.salvage import salvage  # only needed on mistakes

    problems = [*source.problems, *(_in_words(error, source) if error else ())]
    return Loaded(source, None, in_file_order(problems), salvage(source, error))


def _in_words(error: ValidationError, source: YamlSource) -> list[Problem]:
    """Say the findings of pydantic, but for what follows from other problems."""
    from slurmpod.model.phrases import phrase  # only needed on mistakes: a tenth of the start-up
    from slurmpod.model.salvage import is_mere_consequence

    said = {_line(problem) for problem in source.problems}
    details = error.errors(include_url=False)
    found = [phrase(detail, source) for detail in details if not is_mere_consequence(detail)]
    return [problem for problem in found if _line(problem) not in said]


def _line(problem: Problem) -> tuple[str, int]:
    return problem.where.file, problem.where.line
