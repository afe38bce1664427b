"""Batch scripts that a script writes for other jobs: `sbatch <<EOF`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from slurmpod.jobs.calls import Call, Option, Values, calls, expanded, parse_options
from slurmpod.jobs.script import DIRECTIVE, Script, read_script
from slurmpod.jobs.shell import Document

ESCAPED = re.compile(r"\\([$`\\])")
"""What a backslash keeps from the shell in a here document (bash(1), Here Documents)."""


def submitted(script: Script) -> Iterator[Script]:
    """Yield the batch scripts in here documents of sbatch, with the options of that command.

    They stand where they stand in the script, so that what is found in them is found there.
    """
    for document in script.parsed.documents:
        for call in calls(document.reader, script.values):
            if call.name == "sbatch":
                yield read_script(
                    script.file,
                    document.text if document.is_literal else _as_sbatch_gets_it(document, script),
                    script.beside,
                    script.slurm,
                    line=document.line,
                    given=tuple(_known_options(call, script.values)),
                )


def is_job(script: Script) -> bool:
    """Return whether a script shows that it is a job itself, and not only submits others."""
    return bool(script.options or script.late_directives or script.steps)


def _known_options(call: Call, values: Values) -> Iterator[Option]:
    """Yield the options of a command whose values are in the script."""
    for option in parse_options(call.arguments, "sbatch", values).options:
        value = expanded(option.value, values)
        if "$" not in value:
            yield replace(option, value=value)


def _as_sbatch_gets_it(document: Document, script: Script) -> str:
    """Return a text with variables filled in; a directive with one that is not known is left out.

    Each line stays a line.
    """
    return "\n".join(_filled(line, script) for line in document.text.split("\n"))


def _filled(line: str, script: Script) -> str:
    if line.startswith(DIRECTIVE):
        filled = expanded(line, script.values)
        line = "#" if "$" in ESCAPED.sub("", filled) or "\n" in filled else filled
    return ESCAPED.sub(r"\1", line)
