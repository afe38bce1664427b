"""Which programs the commands of a script run: behind `env` and `timeout`, and in variables."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.jobs.variables import is_unknown, values_of
from slurmpod.jobs.words import commands_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.jobs.variables import Values
    from slurmpod.jobs.words import Command, Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=")
SHELLS = frozenset({"bash", "sh", "dash", "zsh"})


@dataclass(frozen=True)
class Wrapper:
    """What stands before a command and is none of it: its options with a value, and operands."""

    valued: frozenset[str] = frozenset()
    operands: int = 0


def _wrapper(valued: str = "", operands: int = 0) -> Wrapper:
    return Wrapper(frozenset(valued.split()), operands)


PLAIN = "if then else elif do while until ! { eval nohup setsid unbuffer"
WRAPPERS = {
    **dict.fromkeys(PLAIN.split(), _wrapper()),
    **dict.fromkeys(SHELLS, _wrapper("-o -O --rcfile --init-file")),
    "env": _wrapper("-u --unset -C --chdir"),
    "exec": _wrapper("-a"),
    "flock": _wrapper("-w --timeout -E --conflict-exit-code", 1),
    "ionice": _wrapper("-c --class -n --classdata"),
    "nice": _wrapper("-n --adjustment"),
    "numactl": _wrapper(
        "-N --cpunodebind -m --membind -i --interleave -C --physcpubind -p --preferred"
    ),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "sudo": _wrapper("-u --user -g --group"),
    "taskset": _wrapper(operands=1),
    "time": _wrapper("-f --format -o --output"),
    "timeout": _wrapper("-k --kill-after -s --signal", 1),
    "xargs": _wrapper("-I -n --max-args -P --max-procs -d -L -s -a --arg-file"),
}
"""Keywords, and programs that run the command behind them, such as a shell the one behind -c."""


@dataclass(frozen=True)
class Call:
    """A program that is run. `is_certain` is False where a variable may hold another one."""

    program: Word
    arguments: tuple[Word, ...]
    is_certain: bool = True

    @property
    def name(self) -> str:
        """The name of the program, without its folder."""
        return _name(self.program)


def split(command: Command) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Return what a command sets for its program, and the words of the program itself."""
    settings: list[Word] = []
    words = deque(command)
    while words:
        if ASSIGNMENT.match(words[0].raw):
            settings.append(words.popleft())
        elif _name(words[0]) in WRAPPERS:
            _skip(words, WRAPPERS[_name(words.popleft())])
        else:
            break
    return tuple(settings), tuple(words)


def program_name(command: Command) -> str:
    """Return the name of what a command runs, without its folder; "" where it runs nothing."""
    _, words = split(command)
    return _name(words[0]) if words else ""


def calls(command: Command, values: Values) -> Iterator[Call]:
    """Yield the programs that a command runs: several for a script behind `bash -c`.

    A program that is a variable of the script is each of those that it ever holds.
    """
    _, words = split(command)
    if not words:
        return
    held = values_of(words[0], values) or ()
    texts = (words[0].text,) if is_unknown(held) else held
    for text in texts:
        *others, last = commands_in(text, words[0].place) or ((),)
        for inner in (*others, (*last, *words[1:])):
            _, called = split(inner)
            if called:
                yield Call(called[0], called[1:], is_certain=len(texts) == 1)


def _skip(words: deque[Word], wrapper: Wrapper) -> None:
    """Drop what belongs to a wrapper from the words behind it."""
    while words and words[0].text.startswith("-"):
        option = words.popleft().text
        if option == "--":
            break
        last = option if option.startswith("--") else f"-{option[-1]}"
        if last in wrapper.valued and words:
            words.popleft()
    for _ in range(min(wrapper.operands, len(words))):
        words.popleft()


def _name(word: Word) -> str:
    return word.text.rpartition("/")[2]
