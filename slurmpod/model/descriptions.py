"""What each field of an environment means, read from the docstring below it.

Read from the source text and only when asked for (the JSON Schema, an error message): pydantic's
own `use_attribute_docstrings` reads it at every start, which costs a third of the start-up time.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from slurmpod.model.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.problems import YamlPath


@cache
def descriptions(section: type[BaseModel]) -> Mapping[str, str]:
    """Return the description of every field of a section."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(section))).body[0]
    assert isinstance(definition, ast.ClassDef)  # noqa: S101  # the source of a class is a class
    found = {
        field.target.id: " ".join(doc.value.value.split())
        for field, doc in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(doc, ast.Expr)
        and isinstance(doc.value, ast.Constant)
    }
    return MappingProxyType(found)


def section_at(path: YamlPath) -> type[BaseModel] | None:
    """Return the model of the mapping at `path`, or None where there is none."""
    section: type[BaseModel] | None = Environment
    for part in path:
        if isinstance(part, int):
            continue
        if section is None or part not in section.model_fields:
            return None
        section = _model_in(section.model_fields[part].annotation)
    return section


def description_of(path: YamlPath) -> str:
    """Return what the field at `path` means; empty where no field is."""
    names = tuple(part for part in path if isinstance(part, str))
    section = section_at(names[:-1]) if names else None
    return descriptions(section).get(names[-1], "") if section else ""


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(inner) for inner in get_args(annotation))
    return next((model for model in found if model), None)
