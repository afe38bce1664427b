"""Find the command, run it, and end with a documented exit code and one line, never a traceback."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, HelpFormatter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from slurmpod.cli import startup
from slurmpod.cli.commands import COMMANDS
from slurmpod.cli.output import say
from slurmpod.problems import ExitCode, InvalidEnvironment, WorkFailed

EXIT_CODES = {
    ExitCode.OK: "done; warnings may have been shown",
    ExitCode.FAILED: "the work failed; the last lines say why",
    ExitCode.USAGE: "invalid usage",
    ExitCode.INVALID: "the environment file, or the batch script, has errors",
    ExitCode.UNPREPARED: "this machine lacks something that the command needs",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
    ExitCode.UNREAD: "the reader closed the output early, as `head` does",
}


def main() -> NoReturn:
    """Run `sys.argv` and end the process: the entry point of the console script."""
    arguments = sys.argv[1:]
    startup.keep_compiled()
    startup.collect_garbage_rarely()
    if _is_brief(arguments):
        startup.prepare()
    _end_in_good_order()
    _make_streams_writable()
    startup.leave(run(arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code; with `--debug`, unexpected errors are raised."""
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()  # a closed pipe fails here at the latest
    except KeyboardInterrupt:
        say("interrupted")
        return ExitCode.INTERRUPTED
    except InvalidEnvironment as invalid:
        from slurmpod.problem_text import problems_text  # only needed on mistakes

        say(problems_text(invalid.problems, sys.stderr))
        return ExitCode.INVALID
    except WorkFailed as failure:
        say(str(failure))
        return ExitCode.FAILED
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _has_no_reader():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for unwritten output
            return ExitCode.UNREAD
        if "--debug" in arguments:
            raise
        if _is_of_others(error) and (extra := _extra_of(arguments)):
            say(f"slurmpod {arguments[0]}: {error}")
            say(f"  fix: pip install 'slurmpod[{extra}]'")
            return ExitCode.UNPREPARED
        _say_unexpected(error)
        return ExitCode.FAILED
    return code


def _is_of_others(error: Exception) -> bool:
    """Return whether a missing package belongs to an extra, and not to slurmpod itself."""
    own = ("slurmpod", "slurmpod_cdk", "embedded_aws")
    return (
        isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] not in own
    )


def _extra_of(arguments: Sequence[str]) -> str | None:
    """Return the extra that a command needs beyond a bare installation."""
    return COMMANDS[arguments[0]].extra if arguments and arguments[0] in COMMANDS else None


def _is_brief(arguments: Sequence[str]) -> bool:
    return bool(arguments) and arguments[0] in COMMANDS and COMMANDS[arguments[0]].brief


def _make_streams_writable() -> None:
    """Keep closed streams and unknown characters from ending a command with a traceback."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or Path(os.devnull).open("w")  # noqa: SIM115  # stays open
        stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, stream)


def _has_no_reader() -> bool:
    """Return whether stdout is a pipe without a reader; other connections break, too."""
    import select  # only needed here

    with suppress(OSError, ValueError):  # a stream without a file descriptor
        asked = select.poll()
        asked.register(sys.stdout.fileno(), 0)  # poll always reports errors
        return bool(asked.poll(0))
    return False


def _say_unexpected(error: Exception) -> None:
    if isinstance(error, OSError):
        place = f": {error.filename}" if error.filename else ""
        say(f"slurmpod: {error.strerror or error}{place}")
        return
    from slurmpod.reading.secrets_in_text import HIDDEN, holds_private_key  # only needed here

    said = HIDDEN if holds_private_key(str(error)) else error
    say(f"slurmpod: unexpected error: {type(error).__name__}: {said}")
    say("This is a bug in slurmpod; run the command with --debug for a traceback.")


def _end_in_good_order() -> None:
    """Handle a closed terminal and SIGTERM like Ctrl-C; `nohup` keeps its meaning."""
    import signal  # only needed by commands that hold something

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _dispatch(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return ExitCode.OK if arguments else ExitCode.USAGE
    name, *rest = arguments
    if name == "--version":
        from importlib.metadata import version  # only needed here

        sys.stdout.write(f"slurmpod {version('slurmpod')}\n")
        return ExitCode.OK
    if name not in COMMANDS:
        from slurmpod.environment.suggestion import did_you_mean  # only needed on mistakes

        guess = did_you_mean(name, COMMANDS) or f"commands: {', '.join(COMMANDS)}"
        say(f"slurmpod: unknown command '{name}'; {guess}")
        return ExitCode.USAGE
    return _run_command(name, rest)


def _run_command(name: str, rest: Sequence[str]) -> int:
    module = import_module(f"slurmpod.cli.{COMMANDS[name].module}")
    parser = parser_of(name)
    own, after_dashes = _split_at_dashes(rest)
    try:
        # --debug is for `run`, in any position; the parsers of actions do not know it.
        options = parser.parse_args([word for word in own if word != "--debug"])
    except SystemExit as wanted:  # after --help, or a usage error that argparse has printed
        return int(wanted.code or 0)
    options.after_dashes = after_dashes
    return int(module.run(options))


def parser_of(name: str) -> ArgumentParser:
    """Return the parser of a command; raises ModuleNotFoundError if its extra is missing."""
    command = COMMANDS[name]
    parser = ArgumentParser(
        prog=f"slurmpod {name}",
        description=f"{command.summary}.",
        allow_abbrev=False,
        # A fixed width: measuring the terminal imports the compression libraries, 2 ms.
        formatter_class=partial(HelpFormatter, width=90),
    )
    import_module(f"slurmpod.cli.{command.module}").add_arguments(parser)
    parser.add_argument(
        "--debug", action="store_true", help="show a traceback for unexpected errors"
    )
    return parser


def _split_at_dashes(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return our own arguments, and those after `--` that are passed on."""
    if "--" not in words:
        return list(words), []
    at = words.index("--")
    return list(words[:at]), list(words[at + 1 :])


def help_text() -> str:
    """Return the output of `slurmpod --help`."""
    width = max(map(len, COMMANDS)) + 2
    commands = "".join(
        f"  {name:<{width}}{command.summary}\n" for name, command in COMMANDS.items()
    )
    codes = "".join(f"  {code:<{width}d}{meaning}\n" for code, meaning in EXIT_CODES.items())
    return (
        "usage: slurmpod COMMAND [--help] ...\n"
        "       slurmpod --version\n\n"
        "A SageMaker HyperPod cluster with Slurm, from one page of YAML.\n\n"
        f"commands:\n{commands}\nexit codes:\n{codes}"
    )
