"""The CDK command line, run against AWS or the embedded AWS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from slurmpod.folders import app_folder, home, node_executable, node_options, npm_script
from slurmpod.operations.deploy.assembly_key import assembly_key, digest_of_files
from slurmpod.operations.deploy.kept_assemblies import TAKEN, KeptAssemblies
from slurmpod.problems import InvalidEnvironment
from slurmpod.reading.read import read
from slurmpod.rules.check import all_sound

CDK = "node_modules/aws-cdk/bin/cdk"
CDK_IS_MISSING = "the CDK command line is not installed\n  fix: slurmpod prepare"
LINES_SHOWN = 15
WATCH_INTERVAL_SECONDS = 0.1

_MANIFEST = "manifest.json"


class CdkFailed(Exception):
    """A command failed; the text is the end of its output."""


def cdk_script() -> Path | None:
    """Return the CDK's command line: the one beside the app, or one of the current folder."""
    places = (app_folder() / CDK, Path.cwd() / CDK)
    return next((script for script in places if script.is_file()), None)


def required_cdk_script() -> Path:
    """Return the CDK's command line; raises CdkFailed if there is none."""
    script = cdk_script()
    if script is None:
        raise CdkFailed(CDK_IS_MISSING)
    return script


def install_cdk() -> None:
    """Install the pinned CDK command line beside the app; raises CdkFailed."""
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    done = subprocess.run(
        [str(node_executable()), str(npm_script()), "ci", *quiet],
        cwd=app_folder(),
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        said = "\n".join(done.stdout.splitlines()[-LINES_SHOWN:])
        raise CdkFailed(f"npm cannot install the CDK command line into {app_folder()}:\n{said}")


@dataclass(frozen=True)
class Cdk:
    """CDK commands for one assembly; logs go to `folder`, `variables` are their environment."""

    assembly: Path
    folder: Path
    variables: Mapping[str, str]

    def synthesize(self, environment_file: Path) -> CdkRun:
        """Synthesize this project's app for one environment into the assembly."""
        return self._of_app(environment_file, "synth", "--quiet")

    def deploy(self, environment_file: Path, *, only: str = "", confirmed: str = "") -> CdkRun:
        """Synthesize this project's app, then deploy all its stacks, or one alone, without asking.

        `confirmed` allows a protected environment to lose something. `is_synthesized` reports
        progress.
        """
        (self.assembly / _MANIFEST).unlink(missing_ok=True)
        chosen = (only, "--exclusively") if only else ("--all",)
        confirmation = ("--context", f"confirm={confirmed}") if confirmed else ()
        return self._of_app(
            environment_file, "deploy", *chosen, *confirmation,
            "--require-approval", "never", "--progress", "events",
        )  # fmt: skip

    def is_synthesized(self) -> bool:
        """Return whether the templates are there; the manifest is written last."""
        return (self.assembly / _MANIFEST).is_file()

    def destroy(self, stacks: Iterable[str]) -> CdkRun:
        """Destroy these stacks of the assembly and no others, without asking."""
        return self._start(
            "destroy", *stacks, "--exclusively", "--force", "--app", str(self.assembly)
        )

    def _of_app(self, environment_file: Path, *arguments: str) -> CdkRun:
        """Run a command on this project's app with one environment.

        Uses the kept assembly instead of synthesizing again, if there is one.
        """
        kept = KeptAssemblies.of_home()
        key = self._key(environment_file)
        checked = (*arguments, "--strict", "--no-lookups")
        if key and kept.copy(key, self.assembly):
            return self._start(*checked, "--app", str(self.assembly), note=TAKEN)

        def keep() -> None:
            if key and key == self._key(environment_file):  # unchanged meanwhile
                kept.keep(key, self.assembly)

        environment = ("--context", f"env={environment_file.absolute()}")
        return self._start(*checked, *environment, "--output", str(self.assembly), then=keep)

    def _key(self, environment_file: Path) -> str | None:
        """Return the digest of the inputs of an assembly.

        None if the app has to run each time: it reports mistakes, and refuses losses of a
        protected environment.
        """
        try:
            found = all_sound([read(environment_file)])
        except InvalidEnvironment:
            return None
        if any(each.protected for each in found.environments):
            return None
        files = {path.name: digest_of_files([path]) for path in _settings() if path.is_file()}
        return assembly_key(found.environments, files, self.variables)

    def _start(
        self, *arguments: str, note: str = "", then: Callable[[], None] = lambda: None
    ) -> CdkRun:
        search_path = f"{Path(sys.executable).parent}:{self.variables.get('PATH', '')}"
        return CdkRun(
            arguments,
            {
                "NODE_COMPILE_CACHE": str(home() / "compiled"),
                **self.variables,
                "PATH": search_path,
                "CI": "true",
                "CDK_HOME": str(self.folder / "cdk-home"),  # it caches account ids there
                "NODE_OPTIONS": node_options(self.variables.get("NODE_OPTIONS")),
            },
            log=self.folder / f"cdk-{arguments[0]}.log",
            note=note,
            then=then,
        )


def _settings() -> tuple[Path, ...]:
    """Return the files with context for the command line, and the one with its version."""
    version = required_cdk_script().parents[1] / "package.json"
    user = Path.home() / ".cdk.json"
    return (app_folder() / "cdk.json", app_folder() / "cdk.context.json", user, version)


class CdkRun:
    """A running CDK command; leaving the `with` block ends it and its child processes.

    `note` is a message for users; `then` is called once it has succeeded.
    """

    def __init__(
        self,
        arguments: tuple[str, ...],
        variables: Mapping[str, str],
        *,
        log: Path,
        note: str,
        then: Callable[[], None],
    ) -> None:
        self.note = note
        self._log, self._then = log, then
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*_die_with_us(), str(node_executable()), str(required_cdk_script()), *arguments],
                cwd=app_folder(),
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(
        self,
        watch: Callable[[], None] = lambda: None,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wait for the end, calling `watch` from time to time; raises CdkFailed on an error.

        Also stops waiting when `until` returns true.
        """
        while self._process.poll() is None:
            if until():
                return
            watch()
            time.sleep(WATCH_INTERVAL_SECONDS)
        watch()
        if self._process.returncode:
            printed = self._log.read_text(errors="replace").splitlines()
            raise CdkFailed("\n".join(printed[-LINES_SHOWN:]))
        self._then()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _die_with_us() -> list[str]:
    """Return the prefix that makes Linux kill a command when this process is killed."""
    return ["setpriv", "--pdeathsig", "KILL", "--"] if sys.platform == "linux" else []
