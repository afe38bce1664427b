"""The node as steps see and change it: commands, files, ports and mounts.

Steps use a `Machine` for everything, so that tests can pass a different one.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from slurmpod_lifecycle.hook_program import HookProgram, run_program
from slurmpod_lifecycle.step import CommandFailed, StepFailed

COMMAND_TIMEOUT_SECONDS = 120
CONNECT_TIMEOUT_SECONDS = 3
LINES_SHOWN = 3

RUN_BY_HAND = "run it by hand on the node"
OTHER_IMAGE = "use an image of HyperPod for Slurm"

MOUNTS = "/proc/self/mounts"


class Machine:
    """The node that this program runs on."""

    def run(
        self,
        *command: str,
        text: str = "",
        fix: str = RUN_BY_HAND,
        timeout_seconds: float = COMMAND_TIMEOUT_SECONDS,
    ) -> str:
        """Run a command with `text` as its input and return its output.

        Raises CommandFailed, with the command's last line, if it does not succeed.
        """
        shown = " ".join(command)
        try:
            ended = _ended(command, text, timeout_seconds)
        except FileNotFoundError:
            raise StepFailed(f"this node has no command {command[0]}", OTHER_IMAGE) from None
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
            # A parallel step has just forked, with the file of a new program still open.
            raise CommandFailed(f"'{shown}' cannot start yet: {error.strerror}", fix) from None
        except subprocess.TimeoutExpired:
            reason = f"'{shown}' did not end within {timeout_seconds} s"
            raise CommandFailed(reason, fix) from None
        if ended.returncode != 0:
            said = _last_lines(ended.stderr) or _last_lines(ended.stdout) or "no output"
            reason = f"'{shown}' failed with status {ended.returncode}: {said}"
            raise CommandFailed(reason, fix)
        return ended.stdout

    def succeeds(self, *command: str) -> bool:
        """Run a read-only command and return whether it succeeded."""
        try:
            self.run(*command)
        except CommandFailed:
            return False
        return True

    def run_program(self, program: HookProgram, say: Callable[[str], None]) -> int | None:
        """Run a program with long run time and output, see `hook_program`.

        Raises StepFailed if it cannot be started.
        """
        try:
            return run_program(program, say)
        except OSError as error:
            reason = f"cannot start {program.command[0]}: {error.strerror}"
            raise StepFailed(reason, "correct the first line of the script") from None

    def read(self, path: str) -> str | None:
        """Return the text of a file, or None if it does not exist."""
        try:
            return Path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, path: str, text: str, *, mode: int = 0o644, owner: str = "") -> bool:
        """Write `text` to the file atomically, and return whether its text changed.

        `owner` is a user with a group of the same name; the default is the current user, root.
        """
        target = Path(path)
        if self.read(path) == text:
            _set_access(target, mode, owner)
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            _set_access(Path(temporary), mode, owner)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return True

    def append(self, path: str, line: str) -> None:
        """Append a line to a file of another owner, keeping its owner and mode."""
        with Path(path).open("r+", encoding="utf-8", newline="\n") as file:
            text = file.read()
            file.write("" if text.endswith("\n") or not text else "\n")
            file.write(f"{line}\n")

    def answers(self, address: str, port: int) -> bool:
        """Return whether a TCP port accepts connections."""
        try:
            socket.create_connection((address, port), CONNECT_TIMEOUT_SECONDS).close()
        except OSError:
            return False
        return True


def _ended(
    command: Sequence[str], text: str, timeout_seconds: float
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        input=text,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout_seconds,
        check=False,
    )


def _set_access(path: Path, mode: int, owner: str) -> None:
    path.chmod(mode)
    if not owner:
        return
    try:
        shutil.chown(path, owner, owner)
    except LookupError:
        reason = f"this node has no user or group '{owner}', who must own {path}"
        raise StepFailed(reason, OTHER_IMAGE) from None


def _last_lines(text: str) -> str:
    return "; ".join(line.strip() for line in text.strip().splitlines()[-LINES_SHOWN:])


def source_at(machine: Machine, folder: str) -> str | None:
    """Return the topmost mount at a folder, or None.

    An automount that was never used counts as none.
    """
    fields = [line.split()[:3] for line in (machine.read(MOUNTS) or "").splitlines()]
    sources = [source for source, path, kind in fields if path == folder and kind != "autofs"]
    return sources[-1] if sources else None
