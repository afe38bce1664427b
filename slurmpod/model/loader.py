"""An environment file -> Environment, or every problem of its form at once.

Pydantic finds the mistakes; `phrases` says them in words of this project, with what is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import to_json

from slurmpod.model.environment import Environment
from slurmpod.model.yaml_source import YamlSource, read_yaml
from slurmpod.problems import Problem, Where, in_file_order

if TYPE_CHECKING:
    from pathlib import Path

    from slurmpod.model.salvage import Salvaged

BYTES_LIMIT = 1_000_000
"""Size of the largest file that is read; an environment is a page."""


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
        with path.open("rb") as file:
            content = file.read(BYTES_LIMIT + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        return _unreadable(
            path,
            f"cannot read the file: {error.strerror}",
            "give the path of an environment file, e.g. environments/dev.yaml",
        )
    except ValueError:  # UnicodeDecodeError, or a NUL in the path
        return _unreadable(path, "the file is not UTF-8 text", "save it as UTF-8")
    if len(content) > BYTES_LIMIT:
        return _unreadable(
            path, "the file is larger than 1 MB", "give an environment file: a page of YAML"
        )
    return load_text(str(path), text)


def load_text(file: str, text: str) -> Loaded:
    """Check the text of an environment file; `file` is the name that problems show."""
    source = read_yaml(file, text)
    if source.data is None:
        return Loaded(source, None, in_file_order(source.problems))
    try:
        environment = Environment.model_validate_json(to_json(source.data))
    except ValidationError as error:
        return _with_mistakes(error, source)
    if source.problems:
        return Loaded(source, None, in_file_order(source.problems))
    return Loaded(source, environment, ())


def _with_mistakes(error: ValidationError, source: YamlSource) -> Loaded:
    from slurmpod.model.salvage import salvage  # only needed on mistakes

    problems = [*source.problems, *_in_words(error, source)]
    return Loaded(source, None, in_file_order(problems), salvage(source.data, error))


def _in_words(error: ValidationError, source: YamlSource) -> list[Problem]:
    """Say the findings of pydantic, but for what follows from a problem in the same line."""
    from slurmpod.model.phrases import phrase  # only needed on mistakes: a tenth of the start-up

    said = {problem.where.line for problem in source.problems}
    found = [phrase(detail, source) for detail in error.errors(include_url=False)]
    return [problem for problem in found if problem.where.line not in said]


def _unreadable(path: Path, message: str, fix: str) -> Loaded:
    source = YamlSource(str(path))
    source.refuse(Where(str(path)), message, fix)
    return Loaded(source, None, tuple(source.problems))
