"""The real CDK command line, run against the embedded AWS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from slurmpod.folders import app_folder, node_executable

CDK = "node_modules/aws-cdk/bin/cdk"
LINES_SHOWN = 15
WATCH_INTERVAL_SECONDS = 0.1


class CdkFailed(Exception):
    """A CDK command ended with an error; the text holds the end of what it printed."""


@dataclass(frozen=True)
class Cdk:
    """CDK commands for one assembly; logs go to `folder`, `variables` are their environment."""

    assembly: Path
    folder: Path
    variables: Mapping[str, str]

    def synthesize(self, environment_file: Path) -> CdkRun:
        """Synthesize this project's app for one environment into the assembly."""
        return self._start(
            "synth", "--quiet", "--strict", "--no-lookups",
            "--context", f"env={environment_file.absolute()}", "--output", str(self.assembly),
        )  # fmt: skip

    def bootstrap(self, *, account: str, region: str) -> CdkRun:
        """Create what every CDK deployment needs: the asset bucket and roles."""
        return self._start("bootstrap", f"aws://{account}/{region}", "--app", "")

    def deploy(self) -> CdkRun:
        """Deploy all stacks of the assembly, without asking."""
        return self._start(
            "deploy", "--all", "--app", str(self.assembly), "--require-approval", "never",
            "--progress", "events",
        )  # fmt: skip

    def _start(self, *arguments: str) -> CdkRun:
        search_path = f"{Path(sys.executable).parent}:{self.variables.get('PATH', '')}"
        return CdkRun(
            arguments,
            {
                **self.variables,
                "PATH": search_path,
                "CI": "true",
                "CDK_HOME": str(self.folder / "cdk-home"),  # it caches account ids there
            },
            log=self.folder / f"cdk-{arguments[0]}.log",
        )


class CdkRun:
    """One running CDK command; leaving the `with` block ends it with all that it started."""

    def __init__(
        self, arguments: tuple[str, ...], variables: Mapping[str, str], *, log: Path
    ) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*_die_with_us(), str(node_executable()), str(_cdk()), *arguments],
                cwd=app_folder(),
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, watch: Callable[[], None] = lambda: None) -> None:
        """Wait for the end, calling `watch` now and then; raises CdkFailed on an error."""
        while self._process.poll() is None:
            watch()
            time.sleep(WATCH_INTERVAL_SECONDS)
        watch()
        if self._process.returncode:
            printed = self._log.read_text(errors="replace").splitlines()
            raise CdkFailed("\n".join(printed[-LINES_SHOWN:]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _cdk() -> Path:
    """Return the CDK's command line: the checkout's, or one installed in the current folder."""
    for place in (app_folder(), Path.cwd()):
        if (place / CDK).is_file():
            return place / CDK
    raise CdkFailed("the CDK command line is missing here\n  fix: npm install aws-cdk@2")


def _die_with_us() -> list[str]:
    """Return the prefix with which Linux kills a command when this process is killed."""
    return ["setpriv", "--pdeathsig", "KILL", "--"] if sys.platform == "linux" else []
