"""Dry runs: what the steps would do, without doing it.

Each step is asked whether it is done. One that is not is started on a machine that rejects the
first change. So the answer comes from the step itself and needs no second description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from slurmpod_lifecycle.hook_program import HookProgram
from slurmpod_lifecycle.machine import COMMAND_TIMEOUT_SECONDS, RUN_BY_HAND, Machine
from slurmpod_lifecycle.platform_facts import METADATA
from slurmpod_lifecycle.runner import MISTAKE, Result, State, in_order, log, unexpected
from slurmpod_lifecycle.step import NotYet, Step, StepFailed
from slurmpod_lifecycle.units import NOTES

ANY: frozenset[str] = frozenset()
ASKING: Mapping[str, frozenset[str]] = {
    "aws": frozenset({"get-secret-value"}),
    "blkid": ANY,
    "cat": ANY,
    "cmp": ANY,
    "curl": frozenset({METADATA}),
    "df": ANY,
    "diff": ANY,
    "dpkg-query": ANY,
    "find": ANY,
    "findmnt": ANY,
    "getent": ANY,
    "grep": ANY,
    "id": ANY,
    "ip": frozenset({"show"}),
    "journalctl": ANY,
    "ls": ANY,
    "lsblk": ANY,
    "lsmod": ANY,
    "lspci": ANY,
    "modinfo": ANY,
    "readlink": ANY,
    "sacctmgr": frozenset({"show"}),
    "scontrol": frozenset({"ping", "show"}),
    "sha256sum": ANY,
    "sinfo": ANY,
    "stat": ANY,
    "systemctl": frozenset({"cat", "is-active", "is-enabled", "is-failed", "show"}),
    "systemd-escape": ANY,
    "test": ANY,
    "uname": ANY,
    "which": ANY,
}
"""Commands that change nothing, with any arguments or only with one of these verbs."""

ACTING = re.compile(r"-(delete|exec|execdir|ok|okdir|fprint.*|fls)")
"""The arguments that let `find` change something."""


class WouldChange(StepFailed):
    """Raised instead of a change; the reason describes the change."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "run it without --dry-run")


class ReadOnlyMachine(Machine):
    """A node for steps that may read everything and change nothing."""

    def run(
        self,
        *command: str,
        text: str = "",
        fix: str = RUN_BY_HAND,
        timeout_seconds: float = COMMAND_TIMEOUT_SECONDS,
    ) -> str:
        """Run a read-only command; raises WouldChange for any other."""
        if text or not only_asks(command):
            raise WouldChange(f"run '{' '.join(command)}'")
        return super().run(*command, fix=fix, timeout_seconds=timeout_seconds)

    def write(self, path: str, text: str, *, mode: int = 0o644, owner: str = "") -> bool:
        """Return False if the file has this text already; raises WouldChange if it does not.

        Notes are skipped: the change that they announce is reported next.
        """
        del mode, owner
        if self.read(path) != text and not path.startswith(f"{NOTES}/"):
            raise WouldChange(f"write {path}")
        return False

    def append(self, path: str, line: str) -> None:
        """Raise WouldChange."""
        del line
        raise WouldChange(f"add a line to {path}")

    def run_program(self, program: HookProgram, say: Callable[[str], None]) -> NoReturn:
        """Raise WouldChange."""
        del say
        raise WouldChange(f"run '{' '.join(program.command)}'")


def only_asks(command: Sequence[str]) -> bool:
    """Return whether a command is known to be read-only."""
    name = command[0].rpartition("/")[2]
    verbs = [word for word in command[1:] if not word.startswith("-")][:2]
    if name == "find" and any(map(ACTING.fullmatch, command)):
        return False
    return name in ASKING and (ASKING[name] is ANY or bool(ASKING[name].intersection(verbs)))


def preview(steps: Sequence[Step]) -> Iterator[Result]:
    """Yield what each step would do, in a possible order, on a ReadOnlyMachine."""
    for step in in_order(steps):
        yield _preview(step)


def _preview(step: Step) -> Result:
    def result(state: State, detail: str, fix: str = "") -> Result:
        return Result(step.name, state, step.required, detail=detail, fix=fix, needs=step.needs)

    try:
        if step.is_done():
            return result(State.ALREADY_DONE, "")
        return result(State.WOULD_RUN, f"check only: {step.apply()}")
    except WouldChange as change:
        return result(State.WOULD_RUN, f"would first {change.reason}")
    except NotYet as error:
        return result(State.WOULD_RUN, f"would wait: {error.reason}", error.fix)
    except StepFailed as error:
        return result(State.FAILED, error.reason, error.fix)
    except Exception as error:  # noqa: BLE001  # one mistake must not hide the other steps
        log.exception(MISTAKE, step.name)
        return result(State.FAILED, *unexpected(error))
