"""Programs that use PyTorch, each forked from one process that has imported it.

The import takes 3 s of a processor. Tests with jobs show that programs also start on their own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_SERVER = """\
import json, os, runpy, sys
import torch.distributed.checkpoint.state_dict, torch.distributed.fsdp

for line in sys.stdin:
    asked = json.loads(line)
    if "pid" in asked:
        pid, status = os.waitpid(asked["pid"], os.WNOHANG)
        answer = os.waitstatus_to_exitcode(status) if pid else None
    else:
        answer = os.fork()
        if not answer:
            break
    print(json.dumps(answer), flush=True)
else:
    sys.exit()

os.chdir(asked["folder"])
os.environ.update(asked["variables"])
printed = os.open(asked["printed"], os.O_WRONLY)
for stream, target in enumerate((os.open(os.devnull, os.O_RDONLY), printed, printed)):
    os.dup2(target, stream)
sys.argv = asked["command"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Answers each line: with the pid of a new process, or how one has ended. The forked process leaves
the loop, and is the program from then on."""

_POLL_SECONDS = 0.02


@dataclass
class Program:
    """A program that runs, or has run; its output is read as it comes."""

    forks: Forks
    pid: int
    stdout: IO[str]
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit status, or None while it runs."""
        if self.returncode is None:
            self.returncode = self.forks.ask(pid=self.pid)
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        while self.poll() is None:
            time.sleep(_POLL_SECONDS)

    def communicate(self) -> str:
        """Return the rest of its output, once it has ended."""
        with self.stdout:
            printed = self.stdout.read()
        self.wait()
        return printed


class Forks:
    """The process that has imported PyTorch; all calls must come from one thread."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server = server
        self._folder = folder

    def start(self, folder: Path, command: Sequence[str], variables: Mapping[str, str]) -> Program:
        """Start a Python program in `folder`, with these variables besides those of the tests."""
        printed = self._folder / f"printed-{len(list(self._folder.iterdir()))}"
        os.mkfifo(printed)
        asked = {"folder": str(folder), "command": command, "variables": variables}
        pid = self.ask(printed=str(printed), **asked)
        return Program(self, pid, printed.open())

    def ask(self, **question: Any) -> Any:
        assert self._server.stdin
        assert self._server.stdout
        print(json.dumps(question), file=self._server.stdin, flush=True)
        return json.loads(self._server.stdout.readline())


@contextmanager
def forks_of(torch: Path, folder: Path) -> Iterator[Forks]:
    """Start the process; `folder` holds the pipes of its programs."""
    with subprocess.Popen(
        [str(torch / "python"), "-c", _SERVER],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield Forks(server, folder)
