"""The script line at which a node's lifecycle scripts failed, derived from their output.

HyperPod shows only the last line of the output, which often comes from a program that called the
one that failed. The output has more: Python tracebacks, shell errors with line numbers, and the
commands that `set -x` prints. Commands are matched against the scripts' text, where a word with
`$` matches anything.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from slurmpod.rules.egress import COMMANDS
from slurmpod.rules.own_scripts import lines_in, text_of

CONTEXT = 12
"""How many preceding commands help to decide which of several files a command is in."""

LEAST_LITERAL = 4
"""How many literal characters a command needs: with fewer it would match anything."""

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)')
_SHELL_ERROR = re.compile(r"^(?P<file>[^\s:]+): (?:line )?(?P<line>\d+): ")
_COMMAND_ERROR = re.compile(r"CalledProcessError: Command '(?P<command>.*)' returned")
_TRACED = re.compile(r"^\++ (?P<command>.+)$")
_PASSES_ON = re.compile(r"^(?:exit|return|\w+=\S*$)")
"""Commands that only handle the status of an earlier, failed command."""

_KEYWORDS = re.compile(r"^(?:(?:if|then|else|elif|do|while|until|!|\{|\()\s+)+")
_EXPANSION = re.compile(r"\$\([^)]*\)?|\$\{[^}]*\}?|\$\w+|\$[@*#?!$-]|[*?`]")
_REDIRECTION = re.compile(r"^\d*(?:[<>]+)(?P<target>.*)$")
_PRINTS = re.compile(r"^(?:echo|printf|logger|log)\b(?:\s+-\w+)*\s+(?P<text>.+)$")


@dataclass(frozen=True)
class Place:
    """A line of a script, with its text; the failure is there or on a later line."""

    file: str
    line: int
    text: str
    is_before: bool = False

    def __str__(self) -> str:
        """Return the location in the format that editors understand, and the line's text."""
        where = "after" if self.is_before else "at"
        return f"{where} {self.file}:{self.line}: {self.text}"


def failed_line(output: str, files: Mapping[str, bytes]) -> Place | None:
    """Return the line at which the scripts failed, or None if their output does not show it."""
    lines = output.splitlines()
    scripts = _Scripts(files)
    return _from_errors(lines, scripts) or _from_texts(lines, scripts)


def _from_errors(lines: Sequence[str], scripts: _Scripts) -> Place | None:
    """Search backwards for an error that names a line, or for the last command that started."""
    only: str | None = None
    passed_on: Place | None = None
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if error := _COMMAND_ERROR.search(line):
            only = scripts.named_in(error["command"]) or only
        elif frame := _FRAME.match(line):
            if only is None and (place := scripts.place(frame["file"], int(frame["line"]))):
                return place
        elif error := _SHELL_ERROR.match(line):
            if place := scripts.place(error["file"], int(error["line"])):
                return place
        elif traced := _TRACED.match(line):
            place = scripts.find(traced["command"], _traced(lines[:number]), only)
            if place and not _PASSES_ON.match(traced["command"]):
                return place
            passed_on = passed_on or place
    return passed_on


def _from_texts(lines: Sequence[str], scripts: _Scripts) -> Place | None:
    """Return the line that printed the last text that only one line can print.

    The failure comes later if other lines have printed since.
    """
    texts = [text for line in reversed(lines) if (text := line.strip())]
    for number, text in enumerate(texts):
        if place := scripts.printer(text):
            return replace(place, is_before=number > 0)
    return None


def _traced(lines: Sequence[str]) -> list[str]:
    """Return the commands that started last, latest first."""
    found: list[str] = []
    for line in reversed(lines):
        if traced := _TRACED.match(line):
            found.append(traced["command"])
        if len(found) == CONTEXT:
            break
    return found


@dataclass(frozen=True)
class _Command:
    """A command of a script: its place and a pattern for the text that `set -x` prints."""

    place: Place
    pattern: re.Pattern[str]
    literal: int


class _Scripts:
    """The scripts' texts and their commands."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._texts = {path: text for path in files if (text := text_of(files[path])) is not None}

    @cached_property
    def _commands(self) -> tuple[_Command, ...]:
        return tuple(_all_commands(self._texts))

    @cached_property
    def _printing(self) -> tuple[_Command, ...]:
        return tuple(_all_texts(self._texts))

    def place(self, path: str, line: int) -> Place | None:
        """Return a line of the script at a path on a node; the path may have any form."""
        file = self._file(path)
        lines = self._texts[file].splitlines() if file else []
        if not file or not 0 < line <= len(lines):
            return None
        return Place(file, line, lines[line - 1].strip())

    def named_in(self, command: str) -> str | None:
        """Return the last script that a command names."""
        words = re.findall(r"[^\s'\",\[\]]+", command)
        return next((file for word in reversed(words) if (file := self._file(word))), None)

    def find(self, command: str, before: Sequence[str], only: str | None) -> Place | None:
        """Return the line of a command; the commands `before` it decide between several files."""
        found = [each for each in self._matching(command) if only in (None, each.place.file)]
        if not found:
            return None
        near = self._neighbours(before) if len({each.place.file for each in found}) > 1 else {}
        best = max(found, key=lambda each: (near.get(each.place.file, 0), each.literal))
        return best.place

    def printer(self, text: str) -> Place | None:
        """Return the line that prints a text, if there is only one."""
        found = {each.place for each in self._printing if each.pattern.fullmatch(text)}
        return found.pop() if len(found) == 1 else None

    def _neighbours(self, commands: Iterable[str]) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for command in commands:
            for file in {each.place.file for each in self._matching(command)}:
                counts[file] = counts.get(file, 0) + 1
        return counts

    def _matching(self, command: str) -> list[_Command]:
        text = " ".join(_words(command))
        return [each for each in self._commands if each.pattern.fullmatch(text)]

    def _file(self, path: str) -> str | None:
        wanted = path.removeprefix("./")
        ends = [file for file in self._texts if wanted == file or wanted.endswith(f"/{file}")]
        return max(ends, key=len, default=None)


def _all_commands(texts: Mapping[str, str]) -> Iterator[_Command]:
    for file, text in texts.items():
        if file.endswith(".py"):
            continue
        for line in lines_in(file, text):
            place = Place(file, line.number, " ".join(line.text.split()))
            for part in COMMANDS.split(line.text):
                yield from _command(place, _KEYWORDS.sub("", part.strip()))


def _all_texts(texts: Mapping[str, str]) -> Iterator[_Command]:
    for file, text in texts.items():
        for line in lines_in(file, text):
            for part in re.split(r"&&|\|\||;|\{\s", line.text):
                if printed := _PRINTS.match(part.strip()):
                    place = Place(file, line.number, " ".join(line.text.split()))
                    yield from _command(place, printed["text"])


def _command(place: Place, text: str) -> Iterator[_Command]:
    words = list(_without_redirections(_words(text)))
    parts = [_EXPANSION.split(word) for word in words]
    literal = sum(len(part) for word in parts for part in word)
    if literal < LEAST_LITERAL:
        return
    pattern = r"\s*".join(".*".join(map(re.escape, word)) for word in parts)
    yield _Command(place, re.compile(pattern), literal)


def _without_redirections(words: Iterable[str]) -> Iterator[str]:
    is_target = False
    for word in words:
        redirection = _REDIRECTION.match(word)
        if redirection:
            is_target = not redirection["target"]
        elif is_target:
            is_target = False
        else:
            yield word


def _words(command: str) -> list[str]:
    """Return a command's words without quotes; for an incomplete command, the words as written."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.replace("'", "").replace('"', "").split()
