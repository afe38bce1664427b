"""`slurmpod completion`: shell completion of commands, options and their choices.

The script is static and runs nothing while the user types, so it does not slow down the shell.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator

from slurmpod.cli.commands import COMMANDS
from slurmpod.cli.main import parser_of
from slurmpod.problems import ExitCode

SCRIPT = """\
# bash completion of slurmpod; `slurmpod completion bash` prints it again after an update.
_slurmpod_words() {{
    case "$1" in
{cases}
    esac
    return 1
}}

_slurmpod() {{
    local at="" word words current="${{COMP_WORDS[COMP_CWORD]}}"
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $word == -* ]] && continue
        if _slurmpod_words "${{at:+$at }}$word" >/dev/null; then at="${{at:+$at }}$word"; fi
    done
    words=$(_slurmpod_words "$at ${{COMP_WORDS[COMP_CWORD-1]}}") || words=$(_slurmpod_words "$at")
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}

complete -o default -F _slurmpod slurmpod
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=["bash"], help="the shell to complete in")


def run(_: argparse.Namespace) -> ExitCode:
    """Print the script."""
    cases = (
        f"    {shlex.quote(at)}) echo {shlex.quote(words)}; return ;;" for at, words in _table()
    )
    sys.stdout.write(SCRIPT.format(cases="\n".join(cases)))
    return ExitCode.OK


def _table() -> Iterator[tuple[str, str]]:
    """Yield the words for each place of a line; skip commands whose extra is missing."""
    yield "", " ".join([*COMMANDS, "--help", "--version"])
    for name in COMMANDS:
        try:
            yield from _words(name, parser_of(name))
        except ModuleNotFoundError:
            continue


def _words(at: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield the words after a command, after each of its actions, and after each of its options."""
    found: list[str] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list its actions
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            found += action.choices
            for name, inner in action.choices.items():
                yield from _words(f"{at} {name}", inner)
        elif action.option_strings:
            found += action.option_strings
            for option in action.option_strings if action.choices else ():
                yield f"{at} {option}", " ".join(map(str, action.choices or ()))
        else:
            found += map(str, action.choices or ())
    yield at, " ".join(found)
