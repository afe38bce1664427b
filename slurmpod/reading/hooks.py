"""Scripts that an environment names as hooks -> their texts by paths in the bundle, or problems.

They are included unchanged. Mistakes that keep a node from starting one are reported here, because
on a node they would take minutes to appear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from slurmpod.environment.environment import Environment
from slurmpod.problems import Problem, Severity, Where, YamlPath
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.value import Value

RULE = "HOK-001"
ROLES = ("controller", "login", "worker")
TIMES = ("before", "after")

NAME_IT = "name a script, relative to this file"
DOS2UNIX = "save it with LF line ends, e.g. with dos2unix"
SHEBANG = "begin the script with #!/bin/bash, or another interpreter"


class HooksReading(Value):
    """The texts by their paths in the bundle, and the problems of those that are missing."""

    scripts: Mapping[str, str]
    problems: tuple[Problem, ...]


def hook_path(role: str, when: str) -> str:
    """Return the path of a hook in the bundle, independent of the user's file name."""
    return f"hooks/{role}-{when}.sh"


def read_hooks(environment: Environment, source: YamlSource) -> HooksReading:
    """Read the files that the environment names, relative to the file that names them."""
    scripts: dict[str, str] = {}
    problems: list[Problem] = []
    for role, when, written in named_hooks(environment):
        where = source.where(hook_place(role, when))
        file = Path(where.file).parent / written
        try:
            text = read_text(file)
        except Unreadable as reason:
            problems.append(_problem(where, f"{file}: {reason.message}", NAME_IT))
            continue
        found = list(_problems(str(file), text))
        problems += found
        if not found:
            scripts[hook_path(role, when)] = text
    return HooksReading(scripts, tuple(problems))


def named_hooks(environment: Environment) -> Iterator[tuple[str, str, str]]:
    """Yield role, time and file of every hook."""
    for role in ROLES:
        for when in TIMES:
            written = getattr(getattr(environment.lifecycle.hooks, role), when)
            if written is not None:
                yield role, when, written


def hook_place(role: str, when: str) -> YamlPath:
    """Return the position of a hook in the environment."""
    return ("lifecycle", "hooks", role, when)


def _problems(file: str, text: str) -> Iterator[Problem]:
    lines = text.split("\n")
    if not re.match(r"#!\s*\S", lines[0]):
        message = "the script names no interpreter: its first line has no #!"
        yield _problem(Where(file, 1), message, SHEBANG)
    for number, line in enumerate(lines, start=1):
        if line.endswith("\r"):
            yield _problem(Where(file, number), "the script has Windows line endings", DOS2UNIX)
            break


def _problem(where: Where, message: str, fix: str) -> Problem:
    return Problem(RULE, Severity.ERROR, where, message, fix)
