"""Commands on the nodes of a running rehearsal, run as by a user with a session there."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slurmpod.rehearsal.nodes.enter import enter_command

COMMAND_TIMEOUT_SECONDS = 120

_KILLED_AFTER_SECONDS = 5
_NODE_STANDS_STILL_SECONDS = 30
"""Extra time for the node to end a command that exceeded its limit."""

_OUT_OF_TIME = (124, 137)
"""Exit statuses of `timeout` if the command had to be ended, or killed."""


class CommandFailed(Exception):
    """A command on a node failed; the text has its output."""


@dataclass(frozen=True)
class Shell:
    """A user's session on one node; `folder` is its network's folder in a running rehearsal."""

    folder: Path
    hostname: str
    user: str = "ubuntu"

    def run(self, command: Sequence[str], *, stdin: str = "") -> str:
        """Run a command and return its output; raises CommandFailed.

        On a timeout, the node ends the command and everything it started.
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
                f"{' '.join(command)} on {self.hostname} exited with status {result.returncode}:\n"
                f"{result.stdout}{result.stderr}"
            )
        return result.stdout.rstrip()

    def _out_of_time(self, command: Sequence[str]) -> CommandFailed:
        return CommandFailed(
            f"{' '.join(command)} on {self.hostname} did not end within {COMMAND_TIMEOUT_SECONDS} s"
        )
