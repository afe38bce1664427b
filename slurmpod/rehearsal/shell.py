"""Commands on the nodes of a running rehearsal, given as by a person with a session there."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slurmpod.rehearsal.nodes.enter import enter_command

COMMAND_TIMEOUT_SECONDS = 120

_KILLED_AFTER_SECONDS = 5
_NODE_STANDS_STILL_SECONDS = 30
"""What the node gets beyond a command's time, in which it ends the command."""

_OUT_OF_TIME = (124, 137)
"""How `timeout` ends when the command had to be ended, or killed."""


class CommandFailed(Exception):
    """A command on a node ended with an error; the text holds what it printed."""


@dataclass(frozen=True)
class Shell:
    """A user's session on one node; `folder` is that of its network in a running rehearsal."""

    folder: Path
    hostname: str
    user: str = "ubuntu"

    def run(self, command: Sequence[str], *, stdin: str = "") -> str:
        """Run a command and return what it prints; raises CommandFailed.

        One that takes too long is ended on the node, with what it has started.
        """
        limited = ("timeout", f"--kill-after={_KILLED_AFTER_SECONDS}", str(COMMAND_TIMEOUT_SECONDS))
        try:
            result = subprocess.run(
                enter_command(self.folder, self.hostname, [*limited, *command], user=self.user),
                input=stdin,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_TIMEOUT_SECONDS + _NODE_STANDS_STILL_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise self._out_of_time(command) from None
        if result.returncode in _OUT_OF_TIME:
            raise self._out_of_time(command)
        if result.returncode:
            raise CommandFailed(
                f"{' '.join(command)} on {self.hostname} ended with {result.returncode}:\n"
                f"{result.stdout}{result.stderr}"
            )
        return result.stdout.rstrip()

    def _out_of_time(self, command: Sequence[str]) -> CommandFailed:
        return CommandFailed(
            f"{' '.join(command)} on {self.hostname} did not end within {COMMAND_TIMEOUT_SECONDS} s"
        )
