"""Jinja2 for this project: undefined names fail, and every value is quoted.

Each kind of file has one filter, `quote`, for its own syntax. There is no autoescaping, which is
for HTML only; a value without `| quote` is refused when the template is rendered.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined

from slurmpod.folders import folder


class Quoted(str):
    """Quoted text: a single value of the target language, whatever it contains."""

    __slots__ = ()


class Unquoted(Exception):
    """Raised for an expression in a template that went through no quoting filter."""


def quote_json(value: object) -> Quoted:
    """Write plain data as JSON: keys sorted, ASCII only, nothing escaped for HTML.

    Raises TypeError or ValueError for values that JSON cannot express, such as NaN.
    """
    return Quoted(json.dumps(value, sort_keys=True, allow_nan=False))


def quote_shell(value: object) -> Quoted:
    """Write text, or a whole number, as one word of a POSIX shell.

    Raises ValueError for a NUL character, which no shell word can hold, and TypeError for other
    values: what a shell makes of them depends on the script.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"a shell word is text or a whole number, not {type(value).__name__}")
    text = str(value)
    if "\0" in text:
        raise ValueError("a shell word cannot hold a NUL character")
    return Quoted(shlex.quote(text))


def refuse_unquoted(value: object) -> Quoted:
    """Accept quoted values; raises Unquoted for anything else (Jinja2's `finalize`)."""
    if isinstance(value, Quoted):
        return value
    raise Unquoted(f"{value!r} is not quoted: write {{{{ value | quote }}}}")


FOLDER = folder("templates")
SUFFIX = ".j2"

_QUOTE: Mapping[str, Callable[[object], Quoted]] = {
    ".json": quote_json,
    ".sh": quote_shell,
    ".sbatch": quote_shell,
}
"""The quoting function by suffix of the rendered file."""


def render(path: str, values: Mapping[str, object]) -> str:
    """Render `templates/<path>.j2`, the template of the file `path`.

    Raises jinja2.UndefinedError for a name that `values` lacks, and Unquoted for an expression
    without `| quote`.
    """
    return environment_for(Path(path).suffix).get_template(path + SUFFIX).render(values)


@cache
def environment_for(suffix: str) -> Environment:
    """Return the environment for rendered files with `suffix`; KeyError for an unknown one."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  # no HTML; `finalize` holds that all values are quoted
        finalize=refuse_unquoted,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["quote"] = _defined(_QUOTE[suffix])
    return environment


def _defined(quote: Callable[[object], Quoted]) -> Callable[[object], Quoted]:
    """Return `quote`, but with undefined names reported as such, not as a wrong type."""

    def quote_defined(value: object) -> Quoted:
        if isinstance(value, Undefined):
            str(value)  # a StrictUndefined raises UndefinedError, with its name
        return quote(value)

    return quote_defined
