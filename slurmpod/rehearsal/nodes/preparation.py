"""Make this machine ready for rehearsals: Debian packages, limits of the kernel, the node image.

`python3 -m slurmpod.rehearsal.nodes.preparation` needs the standard library alone, so that it can
run while the virtual environment is being made.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from slurmpod.platform_profiles.slurm_versions import DEFAULT_SLURM, SlurmVersion
from slurmpod.problems import ExitCode, WorkFailed
from slurmpod.rehearsal.nodes.additions import NOTHING, Additions
from slurmpod.rehearsal.nodes.host_check import MissingPart, missing, missing_packages, raise_limits
from slurmpod.rehearsal.nodes.image import bake, image_path

SMALL_CLUSTER = 4
LINES_SHOWN = 15


class Shown(Protocol):
    """What shows the stages of a preparation."""

    def stage(self, title: str) -> AbstractContextManager[None]:
        """Show a stage, and how long it took."""

    def now(self, detail: str) -> None:
        """Show what the running stage is doing."""

    def note(self, text: str) -> None:
        """Show a line that stays."""


def prepare_machine(
    shown: Shown, additions: Additions = NOTHING, slurm: SlurmVersion = DEFAULT_SLURM
) -> list[MissingPart]:
    """Install Debian packages, raise limits and bake the image; return what is missing then.

    As far as this process may: what it may not, is among what is missing. Raises BakeFailed.
    """
    packages = missing_packages()
    if packages and _may_install():
        install_packages(shown, packages)
    for change in raise_limits():
        shown.note(change)
    lacks = missing(SMALL_CLUSTER)
    for part in lacks:
        shown.note(str(part))
    if not lacks:
        baked_image(shown, additions, slurm)
    return lacks


def install_packages(shown: Shown, packages: list[str]) -> None:
    """Install Debian packages, and show the end of what apt-get printed where that fails.

    What is still missing afterwards is reported by the caller.
    """
    title = f"Debian packages installed: {' '.join(packages)}"
    with contextlib.suppress(subprocess.CalledProcessError), shown.stage(title):
        _apt_get("update", check=False)  # one of several sources may fail
        try:
            _apt_get("install", "--yes", "--no-install-recommends", *packages)
        except subprocess.CalledProcessError as error:
            shown.note("\n".join(error.stdout.splitlines()[-LINES_SHOWN:]))
            raise


def _apt_get(*arguments: str, check: bool = True) -> None:
    subprocess.run(
        ["apt-get", "-qq", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        check=check,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def baked_image(
    shown: Shown, additions: Additions = NOTHING, slurm: SlurmVersion = DEFAULT_SLURM
) -> Path:
    """Return the node image, made now, as a stage, if it is not there; raises BakeFailed."""
    image = image_path(additions, slurm)
    if image.exists():
        return image
    with shown.stage(f"node image with Slurm {slurm} baked"):
        return bake(shown.now, additions, slurm)


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


class Lines:
    """Shows a line for each stage that ends, so that others may print theirs in between."""

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        """Say that the stage is done, or has failed, and how long it took."""
        started = time.monotonic()
        mark = "✗"
        try:
            yield
            mark = "✓"
        finally:
            self.note(f"{mark} {title} {time.monotonic() - started:.0f} s")

    def now(self, detail: str) -> None:
        """Show nothing: a line that is written over would be written into those of others."""

    def note(self, text: str) -> None:
        """Write a line to standard error."""
        sys.stderr.write(f"{text}\n")


def main() -> ExitCode:
    """Prepare the machine, and return the exit code."""
    try:
        lacks = prepare_machine(Lines())
    except WorkFailed as failure:
        sys.stderr.write(f"{failure}\n")
        return ExitCode.FAILED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.UNPREPARED if lacks else ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
