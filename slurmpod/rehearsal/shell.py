"""Commands on the nodes of a running rehearsal, given as by a person with a session there."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes.enter import enter_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMMAND_TIMEOUT_SECONDS = 120


class CommandFailed(Exception):
    """A command on a node ended with an error; the text holds what it printed."""


@dataclass(frozen=True)
class Shell:
    """A user's session on one node of the rehearsal in `folder`."""

    folder: Path
    hostname: str
    user: str = "ubuntu"

    def run(self, command: Sequence[str], *, stdin: str = "") -> str:
        """Run a command and return what it prints; raises CommandFailed."""
        try:
            result = subprocess.run(
                enter_command(self.folder, self.hostname, command, user=self.user),
                input=stdin,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise CommandFailed(
                f"{' '.join(command)} on {self.hostname} did not end"
                f" within {COMMAND_TIMEOUT_SECONDS} s"
            ) from None
        if result.returncode:
            raise CommandFailed(
                f"{' '.join(command)} on {self.hostname} ended with {result.returncode}:\n"
                f"{result.stdout}{result.stderr}"
            )
        return result.stdout.rstrip()
