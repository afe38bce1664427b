"""An environment file -> Environment, or every problem of its form at once.

Pydantic finds the mistakes; `phrases` says them in words of this project, with what is allowed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from slurmpod.model.environment import Environment
from slurmpod.model.yaml_source import YamlSource, read_yaml
from slurmpod.problems import Problem, Severity, Where, in_file_order

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Loaded:
    """What a file held: an environment, or None and the problems of its form."""

    source: YamlSource
    environment: Environment | None
    problems: tuple[Problem, ...]


def load(path: Path) -> Loaded:
    """Read and check one environment file; never raises for what a file can hold."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        return _unreadable(
            path,
            f"cannot read the file: {error.strerror}",
            "give the path of an environment file, e.g. environments/dev.yaml",
        )
    except UnicodeDecodeError:
        return _unreadable(path, "the file is not UTF-8 text", "save it as UTF-8")
    return load_text(str(path), text)


def load_text(file: str, text: str) -> Loaded:
    """Check the text of an environment file; `file` is the name that problems show."""
    source = read_yaml(file, text)
    problems = list(source.problems)
    environment = None
    if source.data is not None or not problems:
        try:
            environment = Environment.model_validate_json(json.dumps(source.data))
        except ValidationError as error:
            from slurmpod.model.phrases import phrase  # only needed on mistakes

            problems += [phrase(detail, source) for detail in error.errors(include_url=False)]
    if problems:
        return Loaded(source, None, in_file_order(problems))
    return Loaded(source, environment, ())


def _unreadable(path: Path, message: str, fix: str) -> Loaded:
    problem = Problem("ENV-001", Severity.ERROR, Where(str(path)), message, fix)
    return Loaded(YamlSource(str(path), ""), None, (problem,))
