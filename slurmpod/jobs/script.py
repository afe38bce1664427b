"""A batch script as Slurm and bash see it: directives, commands, steps and variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from slurmpod.jobs.options import FLAGS, SBATCH_FLAGS, Option, parse_options
from slurmpod.jobs.words import Place, Word, commands, words_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slurmpod.jobs.words import Command

DIRECTIVE = "#SBATCH"
OTHER_COMPONENT = frozenset({"hetjob", "packjob"})
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=")
DECLARING = frozenset({"export", "declare", "typeset", "readonly", "local"})
COUNT = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)
MOST_DIGITS = 9
EXPORTED = re.compile(r"""(?:^|,)([A-Za-z_]\w*)=((?:[^,'"]++|'[^']*+'|"[^"]*+")*+)""")
"""A variable in the value of --export, whose commas may stand in quotes (sbatch(1), --export)."""


@dataclass(frozen=True)
class Assignment:
    """A variable that the script sets, also with --export, and where it does."""

    name: str
    value: str
    place: Place


@dataclass(frozen=True)
class Step:
    """One call of srun. `is_certain` is False where a variable may hide further options."""

    place: Place
    options: tuple[Option, ...]
    command: tuple[Word, ...]
    is_certain: bool

    def option(self, name: str) -> Option | None:
        """Return the option that counts: the last one of that name."""
        return _last(self.options, name)

    @property
    def auto_resume(self) -> Option | None:
        """The option with which HyperPod restarts the step, unless it is switched off."""
        option = self.option("auto-resume")
        return None if option is None or option.value == "0" else option


@dataclass(frozen=True)
class Script:
    """A batch script; `options` are those of its directives, for its first component.

    `late_directives` stand behind the first command, where sbatch no longer looks.
    """

    file: str
    text: str
    options: tuple[Option, ...]
    late_directives: tuple[Place, ...]
    commands: tuple[Command, ...]
    assignments: tuple[Assignment, ...]
    steps: tuple[Step, ...]

    def option(self, name: str) -> Option | None:
        """Return the option of sbatch that counts: the last one of that name."""
        return _last(self.options, name)

    @cached_property
    def resuming_steps(self) -> tuple[Step, ...]:
        """The steps that HyperPod restarts."""
        return tuple(step for step in self.steps if step.auto_resume)

    @property
    def appends(self) -> bool:
        """Whether sbatch keeps what is in the output file already."""
        mode = self.option("open-mode")
        return mode is not None and mode.value.startswith("a")

    @property
    def fewest_nodes(self) -> int | None:
        """The number of nodes that the job asks for at least; None where it does not say."""
        return node_count(self.option("nodes"))

    def calls(self, *names: str) -> Iterator[tuple[Word, ...]]:
        """Yield the words behind each call of one of these programs."""
        for command in self.commands:
            name, words = command_name(command)
            if name in names:
                yield words

    def places(self, pattern: re.Pattern[str]) -> Iterator[Place]:
        """Yield where a pattern begins in a word of a command: once for a word."""
        for command in self.commands:
            for word in command:
                if match := pattern.search(word.raw):
                    yield word.place_of(match.start())


def read_script(file: str, text: str) -> Script:
    """Read the text of a batch script; whatever it is, there is a result."""
    unix_text = text.replace("\r\n", "\n")
    all_commands = tuple(commands(unix_text))
    options, late = _directives(unix_text)
    assignments = tuple(each for command in all_commands for each in _assignments(command))
    values: dict[str, list[str]] = {}
    for assignment in assignments:
        values.setdefault(assignment.name, []).append(assignment.value)
    steps = tuple(_steps(all_commands, values))
    exports = (_last(each, "export") for each in (options, *(step.options for step in steps)))
    exported = tuple(each for export in exports if export for each in _exported(export))
    return Script(file, text, options, late, all_commands, assignments + exported, steps)


def node_count(option: Option | None) -> int | None:
    """Return the least number in `--nodes=2` or `--nodes=2-4`; None for anything else."""
    match = COUNT.fullmatch(option.value) if option else None
    return int(match[1]) if match and len(match[1]) <= MOST_DIGITS else None


def command_name(command: Command) -> tuple[str, tuple[Word, ...]]:
    """Return the name of what is run, without its folder, and the words behind it."""
    for index, word in enumerate(command):
        if not ASSIGNMENT.match(word.raw):
            return word.text.rpartition("/")[2], command[index + 1 :]
    return "", ()


def _directives(text: str) -> tuple[tuple[Option, ...], tuple[Place, ...]]:
    """Return the options that sbatch reads, and the places of those that it does not.

    It stops at the first line that is neither a comment nor blank (sbatch(1), DESCRIPTION).
    """
    options: list[Option] = []
    late: list[Place] = []
    is_first_component, is_over = True, False
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.startswith(DIRECTIVE):
            is_over |= bool(line.strip()) and not line.lstrip().startswith("#")
            continue
        if is_over:
            late.append(Place(number, 1))
            continue
        words = words_in(line.removeprefix(DIRECTIVE), Place(number, 1))
        parsed = parse_options(words, SBATCH_FLAGS, {})
        is_first_component &= not any(word.text in OTHER_COMPONENT for word in parsed.rest)
        options += parsed.options if is_first_component else ()
    return tuple(options), tuple(late)


def _assignments(command: Command) -> Iterator[Assignment]:
    """Yield what is set before a command, by `export` and its like, and by `env`."""
    may_go_on = True
    for word in command:
        match = ASSIGNMENT.match(word.raw)
        if match and may_go_on:
            is_list = word.raw.startswith("(", match.end())
            value = word.raw[match.end() :] if is_list else word.text.partition("=")[2]
            yield Assignment(match[1], value, word.place)
        elif word.text not in DECLARING and not (word.text.startswith("-") and may_go_on):
            may_go_on = word.text == "env"


def _exported(export: Option) -> Iterator[Assignment]:
    """Yield what `--export=ALL,A=1` sets: the variables of a job, or of a step."""
    for match in EXPORTED.finditer(export.value):
        yield Assignment(match[1], re.sub("['\"]", "", match[2]), export.place)


def _steps(all_commands: tuple[Command, ...], values: Mapping[str, list[str]]) -> Iterator[Step]:
    for command in all_commands:
        name, words = command_name(command)
        if name == "srun":
            parsed = parse_options(words, FLAGS, values)
            place = command[len(command) - len(words) - 1].place
            yield Step(place, parsed.options, parsed.rest, parsed.is_certain)


def _last(options: tuple[Option, ...], name: str) -> Option | None:
    return next((option for option in reversed(options) if option.name == name), None)
