"""The words of a launch command, with the values of its script's variables. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from slurmpod.jobs.calls import Values, expanded
from slurmpod.jobs.script import Script
from slurmpod.jobs.shell import Word

DEFAULT = re.compile(r"\$\{(\w+):?[-=]([^{}$]*)\}")
"""A variable with a default."""

OPEN = re.compile(r"\$\{?(?:\w+|[@*#?!$-])|`|\$\(|<[^<>]*[A-Z][^<>]*>")
"""A variable, what a command prints, or `<PLACEHOLDER>`."""

ALL_ARGUMENTS = frozenset({"$@", "${@}", "$*", "${*}", "${@:1}"})
"""Arguments of the job, which its script passes on."""

ARGUMENT = re.compile(r"\$\{?([1-9])\b\}?")
"""Positional arguments of a script."""

LIST = re.compile(r"\$\{\w+\[[@*]\]\}")


def values_of_script(script: Script, given: Mapping[str, str]) -> Values:
    """Return the values of variables: from the user, the script, or a default (`: ${A:=b}`)."""
    defaults = {
        match[1]: (_unquoted(match[2]),)
        for call in script.called
        if call.name == ":"
        for word in call.arguments
        if (match := DEFAULT.match(word.text))
    }
    here = {"PWD": (".",)}  # a job runs in its folder, where the repository is
    return {
        **here,
        **defaults,
        **script.values,
        **{name: (value,) for name, value in given.items()},
    }


def filled(words: Sequence[Word], values: Values) -> Iterator[str]:
    """Yield words as the program gets them; unset variables stay unchanged."""
    for word in words:
        if word.text in ALL_ARGUMENTS:
            continue
        text = filled_text(word.text, values)
        is_quoted = word.raw.startswith(('"', "'")) and not LIST.fullmatch(word.text)
        yield from [text] if is_quoted or text == word.text else _split(text)


def filled_text(text: str, values: Values) -> str:
    """Return a text with its variables filled in, or their defaults."""
    for _ in range(2):  # a default may name variables, too
        text = DEFAULT.sub(lambda match: _unquoted(match[2]), expanded(text, values))
    return ARGUMENT.sub(lambda match: next(iter(values.get(match[1], ())), match[0]), text)


def unknown(words: Sequence[str]) -> tuple[str, ...]:
    """Return the variables and commands in words whose values are unknown."""
    found = (match[0].replace("{", "") for word in words for match in OPEN.finditer(word))
    return tuple(dict.fromkeys("$(...)" if each in ("$(", "`") else each for each in found))


def _unquoted(text: str) -> str:
    return text.strip("\"'")


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return [text]
