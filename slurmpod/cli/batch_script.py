"""All problems of a batch script, including those that bash itself reports."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

from slurmpod.jobs.lint import lint, not_read_by_bash
from slurmpod.jobs.script import Beside, nothing
from slurmpod.problems import Problem, in_file_order

if TYPE_CHECKING:
    from slurmpod.resolve import Resolved

_FOR_BASH = re.compile(r"#![ \t]*\S*/(?:env[ \t]+)?bash\b")
_COMPLAINT = re.compile(r"^bash: line ([0-9]+): (?:warning: )?(.+)$", re.MULTILINE | re.ASCII)


def problems_of(
    file: str,
    text: str,
    resolved: Resolved | None = None,
    beside: Beside = nothing,
    slurm: str = "",
) -> tuple[Problem, ...]:
    """Return all problems of a batch script, top to bottom; the arguments are those of `lint`."""
    found = lint(file, text, resolved, beside, slurm)
    return in_file_order((*found, *_said_by_bash(file, text)))


def _said_by_bash(file: str, text: str) -> Iterator[Problem]:
    """Yield the first syntax error that bash reports; bash reads the script and runs nothing.

    Without bash, or with Windows line endings, yields nothing.
    """
    if not _FOR_BASH.match(text) or "\r\n" in text:
        return
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        asked = subprocess.run(
            ["bash", "--norc", "-n"],
            input=text.encode(),
            env=environment,
            capture_output=True,
            check=False,
        )
    except OSError:
        return
    if complaint := _COMPLAINT.search(asked.stderr.decode(errors="replace")):
        last = len(text.splitlines())  # bash counts "end of file" as one more line
        yield not_read_by_bash(file, min(int(complaint[1]), last), complaint[2])
