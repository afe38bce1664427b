"""Jinja2 as this project uses it: undefined names fail, and every value is quoted.

Each kind of file has one filter, `quote`, for its own syntax. There is no autoescaping, which is
for HTML only; a value without `| quote` is refused when the template is rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined

from slurmpod.bundle.quoting import Quoted, quote_json, quote_shell, refuse_unquoted
from slurmpod.folders import folder

FOLDER = folder("templates")
SUFFIX = ".j2"

_QUOTE: Mapping[str, Callable[[object], Quoted]] = {
    ".json": quote_json,
    ".sh": quote_shell,
    ".sbatch": quote_shell,
}
"""How values are quoted, by the suffix of the rendered file."""


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
    """Return `quote` such that it reports an undefined name as that, not as a wrong type."""

    def quote_defined(value: object) -> Quoted:
        if isinstance(value, Undefined):
            str(value)  # a StrictUndefined raises UndefinedError, with its name
        return quote(value)

    return quote_defined
