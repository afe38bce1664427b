"""Programs that a script runs, with their options: behind `env`, `timeout`, in variables."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from slurmpod.jobs.options import Program, flags, full_names, short_names
from slurmpod.jobs.shell import Command, Place, Word, commands_in, commands_of, words_in
from slurmpod.value import Value

Values = Mapping[str, Sequence[str]]
"""All that the script sets a variable to, each once; of a list, what is in its parentheses."""

VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)(?:\[[@*]\])?(?::?[-+][^}]*)?\}?")
LOOKUP = re.compile(r"(?:\$\(|`)\s*(?:which|command\s+-v|type\s+-p)\s")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=")
DEEPEST = 3
LONGEST_EXPANDED = 4_000
"""Characters that a text with its variables filled in may have."""

SHELLS = frozenset({"bash", "sh", "dash", "zsh"})
WATCHER = "slurmpod_watch/watch.py"
"""Wrapper that runs a training's step and watches it: `python3 slurmpod_watch/watch.py ... -- srun
...`.
"""


class Wrapper(Value):
    """Words before a command that are none of it: its options with a value, and operands."""

    valued: frozenset[str] = frozenset()
    operands: int = 0


def _wrapper(valued: str = "", operands: int = 0) -> Wrapper:
    return Wrapper(frozenset(valued.split()), operands)


PLAIN = "eval nohup setsid unbuffer"
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
"""Programs that run the command behind them, such as a shell the one behind -c."""


class Call(Value):
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
        elif len(words) > 1 and words[1].text.endswith(WATCHER):
            _drop_to_dashes(words)
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
        *others, last = commands_in(expanded(text, values), words[0].place) or ((),)
        for inner in (*others, (*last, *words[1:])):
            _, called = split(inner)
            if called:
                yield Call(called[0], called[1:], is_certain=len(texts) == 1)


class Option(Value):
    """One option under its long name; `value` is "" for one that was given none.

    `is_cut_off` is one that needs a value, and behind which the line is over.
    `variable` is the one that holds it; "" where it stands there itself.
    """

    name: str
    value: str
    place: Place
    variable: str = ""
    is_cut_off: bool = False


class Parsed(Value):
    """Options, and the words behind them.

    `is_certain` is False if something may be unknown options.
    """

    options: tuple[Option, ...]
    rest: tuple[Word, ...]
    is_certain: bool


def parse_options(words: Sequence[Word], program: Program, values: Values) -> Parsed:
    """Read a program's options up to the first word that is none, under their full names.

    `values` has what the script assigns to variables: one that holds options is replaced by them,
    by all that it holds at any time.
    """
    waiting = deque((word, "") for word in words)
    options: list[Option] = []
    while waiting:
        word, variable = waiting.popleft()
        if word.text.startswith("-") and word.text not in ("-", "--"):
            found = _options_of(word, waiting, program)
            options += (replace(each, variable=variable) for each in found)
            continue
        held = None if variable else values_of(word, values)
        if held is not None and holds_options(held):
            all_words = reversed(_all_words(held, word.place))
            waiting.extendleft((each, variable_name(word)) for each in all_words)
            continue
        rest = () if variable else (word, *(each for each, _ in waiting))
        unknown = is_unknown((word.text,) if held is None else held)
        return Parsed(tuple(options), rest, is_certain=not unknown)
    return Parsed(tuple(options), (), is_certain=True)


def values_of(word: Word, values: Values) -> Sequence[str] | None:
    """Return all values of a word that is one variable; None for any other word."""
    name = variable_name(word)
    return values.get(name, ()) if name else None


def variable_name(word: Word) -> str:
    """Return the name of the variable that a word is; "" for any other word."""
    variable = VARIABLE.fullmatch(word.text)
    return variable[1] if variable else ""


def expanded(text: str, values: Values) -> str:
    """Return a text with what the script first sets its variables to, also those in these.

    What is first set is the program; what is set later adds to it. Variables that the script does
    not set stay as they are, and so does a text that would become too long.
    """
    for _ in range(DEEPEST):
        longer = VARIABLE.sub(lambda match: _first_held(match, values), text)
        if longer == text or len(longer) > LONGEST_EXPANDED:
            break
        text = longer
    return text


def holds_options(held: Sequence[str]) -> bool:
    """Return whether a variable that is set to these values is options, or nothing."""
    firsts = [command[0] for value in held for command in commands_of(value)[:1]]
    return bool(held) and all(word.text.startswith("-") for word in firsts)


def is_unknown(held: Sequence[str]) -> bool:
    """Return whether a value is unknown: not set by the script, or the output of a command.

    The path of a program, which a command looks up, counts as known.
    """
    firsts = [command[0] for value in held for command in commands_of(value)[:1]]
    return not held or any(each.is_substitution and not LOOKUP.match(each.raw) for each in firsts)


def _first_held(variable: re.Match[str], values: Values) -> str:
    """Return what a variable is first set to; itself where that is what a command prints."""
    held = next(filter(None, values.get(variable[1], ())), "")
    is_printed = held.startswith(("$(", "`")) and not LOOKUP.match(held)
    return variable[0] if not held or is_printed or len(held) > LONGEST_EXPANDED else held


def _skip(words: deque[Word], wrapper: Wrapper) -> None:
    """Drop a wrapper's own arguments."""
    while words and words[0].text.startswith("-"):
        option = words.popleft().text
        if option == "--":
            break
        last = option if option.startswith("--") else f"-{option[-1]}"
        if last in wrapper.valued and words:
            words.popleft()
    for _ in range(min(wrapper.operands, len(words))):
        words.popleft()


def _drop_to_dashes(words: deque[Word]) -> None:
    """Drop all words up to `--`, and that."""
    while words and words.popleft().text != "--":
        pass


def _name(word: Word) -> str:
    return word.text.rpartition("/")[2]


def _options_of(word: Word, waiting: deque[tuple[Word, str]], program: Program) -> Iterable[Option]:
    """Return the options of one word; the value of the last may be the next word."""
    text = word.text
    if text.startswith("--"):
        written, equals, value = text[2:].partition("=")
        meant = full_names(written, program)
        name = meant[0] if len(meant) == 1 else written
        if equals or name in flags(program):
            return [Option(name, value, word.place)]
        return [_with_next_word(name, word.place, waiting)]
    options: list[Option] = []
    for index, letter in enumerate(text[1:], start=2):
        name = short_names(program).get(letter, letter)
        if name not in flags(program):
            value = text[index:]
            last = Option(name, value, word.place) if value else None
            return [*options, last or _with_next_word(name, word.place, waiting)]
        options.append(Option(name, "", word.place))
    return options


def _with_next_word(name: str, place: Place, waiting: deque[tuple[Word, str]]) -> Option:
    if not waiting:
        return Option(name, "", place, is_cut_off=True)
    return Option(name, waiting.popleft()[0].text, place)


def _all_words(held: Iterable[str], place: Place) -> list[Word]:
    return [word for value in held for word in words_in(value, place)]
