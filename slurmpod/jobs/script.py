"""A batch script as Slurm and bash read it: directives, commands, steps and variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from itertools import product

from slurmpod.jobs.calls import (
    ASSIGNMENT,
    Call,
    Option,
    Values,
    calls,
    parse_options,
    program_name,
    split,
)
from slurmpod.jobs.options import node_counts
from slurmpod.jobs.shell import Command, Document, ParsedScript, Place, Word, read, words_in
from slurmpod.value import Value

DIRECTIVE = "#SBATCH"
OTHER_COMPONENT = frozenset({"hetjob", "packjob"})
DECLARING = frozenset({"export", "declare", "typeset", "readonly", "local"})
SUBMITTING = frozenset({"sbatch", "salloc"})
HANDING_ON = frozenset({"read", "mapfile", "readarray", "srun"})
"""Commands that pass a here document to a step, or to a variable for one."""

Beside = Callable[[str], str | None]
"""The text of the script of that name in the folder of a batch script, or None."""

EXPORTED = re.compile(r"""(?:^|,)([A-Za-z_]\w*)=((?:[^,'"]++|'[^']*+'|"[^"]*+")*+)""")
"""A variable in the value of --export, whose commas may stand in quotes (sbatch(1), --export)."""


class Assignment(Value):
    """A variable that the script sets, also with --export, and its position."""

    name: str
    value: str
    place: Place


class Step(Value):
    """One call of srun. `is_certain` is False where a variable may hide further options."""

    place: Place
    options: tuple[Option, ...]
    command: tuple[Word, ...]
    is_certain: bool
    runs: tuple[Call, ...]
    """The programs of `command`, and those of the here document that its shell reads."""

    document: tuple[Word, ...] = ()
    """The words of that here document."""

    def option(self, name: str) -> Option | None:
        """Return the option that counts: the last one of that name."""
        return _last(self.options, name)

    @property
    def auto_resume(self) -> Option | None:
        """The option with which HyperPod restarts the step, unless it is switched off."""
        option = self.option("auto-resume")
        return None if option is None or option.value == "0" else option


class Script(Value):
    """A batch script; `options` are those of its directives, for its first component.

    `strays` are words of directives that are no options: the first one of each line.

    `late_directives` stand behind the first command, where sbatch no longer looks. `values` has
    what the script itself sets variables to. `documents` are its here documents, but for those
    that are the batch script of another job.
    """

    file: str
    text: str
    options: tuple[Option, ...]
    strays: tuple[Word, ...]
    late_directives: tuple[Place, ...]
    commands: tuple[Command, ...]
    assignments: tuple[Assignment, ...]
    values: Values
    called: tuple[Call, ...]
    steps: tuple[Step, ...]
    documents: tuple[Document, ...]
    parsed: ParsedScript = field(repr=False)
    beside: Beside = field(repr=False)
    slurm: str
    """The version of Slurm that reads it, such as 24.11; "" if unknown."""

    line: int = 1
    """Its first line: not 1 in a here document for sbatch."""

    def option(self, name: str) -> Option | None:
        """Return the option of sbatch that counts: the last one of that name."""
        return _last(self.options, name)

    @cached_property
    def resuming_steps(self) -> tuple[Step, ...]:
        """The steps that HyperPod restarts."""
        return tuple(step for step in self.steps if step.auto_resume)

    @property
    def appends(self) -> bool:
        """Whether sbatch appends to an existing output file."""
        mode = self.option("open-mode")
        return mode is not None and mode.value.startswith("a")

    @property
    def fewest_nodes(self) -> int | None:
        """The number of nodes that the job asks for at least; None where it does not say."""
        return node_count(self.option("nodes"))

    @property
    def is_on_one_node(self) -> bool:
        """Whether the job says that it wants one node, and no more."""
        option = self.option("nodes")
        return option is not None and node_counts(option.value) == (1, 1)

    @cached_property
    def handed_on(self) -> tuple[Command, ...]:
        """The contents of the here documents of a step, or of a variable for one."""
        handing = (each for each in self.documents if HANDING_ON & self._names(each.reader))
        return tuple(command for document in handing for command in document.commands)

    def never_meet(self, one: Option, other: Option) -> bool:
        """Return whether two options are set in branches of which no run takes both."""
        pairs = list(product(self._origins(one), self._origins(other)))
        return bool(pairs) and all(self.parsed.exclude(*pair) for pair in pairs)

    def calls(self, *names: str) -> Iterator[tuple[Word, ...]]:
        """Yield the words behind each call of one of these programs."""
        for call in self.called:
            if call.name in names:
                yield call.arguments

    def places(self, pattern: re.Pattern[str]) -> Iterator[Place]:
        """Yield where a pattern begins in words of commands and documents: once for a word."""
        in_documents = (command for document in self.documents for command in document.commands)
        for command in (*self.commands, *in_documents):
            for word in command:
                if match := pattern.search(word.raw):
                    yield word.place_of(match.start())

    def _origins(self, option: Option) -> list[Place]:
        """Return where an option stands: on its own, or in what its variable is set to."""
        if not option.variable:
            return [option.place]
        held = (each for each in self.assignments if each.name == option.variable)
        return [each.place for each in held if f"--{option.name}" in each.value]

    def _names(self, command: Command) -> set[str]:
        return {call.name for call in calls(command, self.values)}


def nothing(_name: str) -> None:
    """Return no text: the default if files beside a script are not read."""


def read_script(
    file: str,
    text: str,
    beside: Beside = nothing,
    slurm: str = "",
    *,
    line: int = 1,
    given: tuple[Option, ...] = (),
) -> Script:
    """Read the text of a batch script; whatever it is, there is a result.

    `beside` returns the text of a script in the same folder, by its name. `line` is where the text
    begins, and `given` are options of the command line, which count before directives.
    """
    unix_text = text.replace("\r\n", "\n")
    reading = read(unix_text, line)
    options, strays, late = _directives(unix_text, reading.comments, line)
    options += given
    assignments = tuple(each for command in reading.commands for each in _assignments(command))
    values = _values(assignments)
    called = tuple(call for command in reading.commands for call in calls(command, values))
    steps = tuple(_step(call, values, reading.documents) for call in called if call.name == "srun")
    exports = (_last(each, "export") for each in (options, *(step.options for step in steps)))
    exported = tuple(each for export in exports if export for each in _exported(export))
    return Script(
        file=file,
        text=text,
        options=options,
        strays=strays,
        late_directives=late,
        commands=reading.commands,
        assignments=assignments + exported,
        values=values,
        called=called,
        steps=steps,
        documents=tuple(each for each in reading.documents if not _is_other_job(each)),
        parsed=reading,
        beside=beside,
        slurm=slurm,
        line=line,
    )


def node_count(option: Option | None) -> int | None:
    """Return the least number in `--nodes=2` or `--nodes=2-4`; None for anything else."""
    counts = node_counts(option.value) if option else None
    return counts[0] if counts else None


def _directives(
    text: str, comments: Iterable[Place], first: int
) -> tuple[tuple[Option, ...], tuple[Word, ...], tuple[Place, ...]]:
    """Return the options that sbatch reads, words that are none, and directives not read.

    It stops at the first line that is neither a comment nor blank (sbatch(1), DESCRIPTION). Behind
    it, what is no comment of this script, but stands in a text, is for another job.
    """
    own = frozenset(comments)
    options: list[Option] = []
    strays: list[Word] = []
    late: list[Place] = []
    is_first_component, is_over = True, False
    for number, line in enumerate(text.split("\n"), start=first):
        if not line.startswith(DIRECTIVE):
            is_over |= bool(line.strip()) and not line.lstrip().startswith("#")
            continue
        place = Place(number, 1)
        if is_over:
            late += [place] if place in own else []
            continue
        words = words_in(line.removeprefix(DIRECTIVE), place)
        parsed = parse_options(words, "sbatch", {})
        is_first_component &= not any(word.text in OTHER_COMPONENT for word in parsed.rest)
        if is_first_component:
            options += parsed.options
            has_blanks = any(each.value.startswith("=") for each in parsed.options)
            rest = () if has_blanks else parsed.rest
            strays += [word for word in rest if word.text != "--"][:1]
    return tuple(options), tuple(strays), tuple(late)


def _assignments(command: Command) -> Iterator[Assignment]:
    """Yield what is set before a command, by `export` and its like, and by `env`."""
    settings, words = split(command)
    may_go_on = True
    for word in (*settings, *words):
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


def _values(assignments: Iterable[Assignment]) -> Values:
    values: dict[str, dict[str, None]] = {}
    for each in assignments:
        is_list = each.value.startswith("(")
        value = each.value[1:].removesuffix(")") if is_list else each.value
        values.setdefault(each.name, {})[value] = None
    return {name: tuple(held) for name, held in values.items()}


def _step(call: Call, values: Values, documents: Iterable[Document]) -> Step:
    parsed = parse_options(call.arguments, "srun", values)
    is_certain = call.is_certain and parsed.is_certain
    runs = tuple(calls(parsed.rest, values))
    commands = _read_by_shell(call, documents) if parsed.rest and not runs else ()
    return Step(
        place=call.program.place,
        options=parsed.options,
        command=parsed.rest,
        is_certain=is_certain,
        runs=runs or tuple(each for command in commands for each in calls(command, values)),
        document=tuple(word for command in commands for word in command),
    )


def _read_by_shell(call: Call, documents: Iterable[Document]) -> tuple[Command, ...]:
    """Return the commands of the here document of a call, as in `srun bash <<EOF`."""
    for document in documents:
        if call.program.place in [word.place for word in document.reader]:
            return document.commands
    return ()


def _is_other_job(document: Document) -> bool:
    """Return whether a here document is given to sbatch, at once or by way of a file."""
    is_submitted = program_name(document.reader) in SUBMITTING
    return is_submitted or any(line.startswith(DIRECTIVE) for line in document.text.split("\n"))


def _last(options: tuple[Option, ...], name: str) -> Option | None:
    return next((option for option in reversed(options) if option.name == name), None)
