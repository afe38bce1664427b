"""Values in the syntax of the file that they are rendered into.

A value comes out of a template only as `Quoted` text, so a template cannot forget to quote.
"""

from __future__ import annotations

import json
import shlex


class Quoted(str):
    """Text that is safe where it stands: it is one value of its language, whatever it holds."""

    __slots__ = ()


class Unquoted(Exception):
    """Raised for an expression in a template that no quoting filter has passed."""


def quote_json(value: object) -> Quoted:
    """Write plain data as JSON: keys sorted, ASCII only, nothing escaped for HTML.

    Raises TypeError or ValueError for what JSON cannot say, NaN among it.
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
    """Pass what a filter has quoted; raises Unquoted for anything else (Jinja2's `finalize`)."""
    if isinstance(value, Quoted):
        return value
    raise Unquoted(f"{value!r} is not quoted: write {{{{ value | quote }}}}")
