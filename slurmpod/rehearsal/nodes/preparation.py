"""Prepares this machine for rehearsals: Debian packages, kernel limits, the node image.

`python3 -m slurmpod.rehearsal.nodes.preparation` uses the standard library alone, so that it can
run while the virtual environment is being created.
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
    """Shows the stages of a preparation."""

    def stage(self, title: str) -> AbstractContextManager[None]:
        """Show a stage and its duration."""

    def now(self, detail: str) -> None:
        """Show what the running stage is doing."""

    def note(self, text: str) -> None:
        """Show a permanent line."""


def prepare_machine(
    shown: Shown, additions: Additions = NOTHING, slurm: SlurmVersion = DEFAULT_SLURM
) -> list[MissingPart]:
    """Install Debian packages, raise limits and bake the image; return what is still missing.

    Steps that this process may not do are reported as missing. Raises BakeFailed.
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
    """Install Debian packages; if that fails, show the end of apt-get's output.

    The caller reports packages that are still missing.
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
    """Return the node image, baked as a stage if it does not exist; raises BakeFailed."""
    image = image_path(additions, slurm)
    if image.exists():
        return image
    with shown.stage(f"node image with Slurm {slurm} baked"):
        return bake(shown.now, additions, slurm)


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


class Lines:
    """Shows a line for each finished stage, so that other output may appear in between."""

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        """Show that the stage is done or has failed, and its duration."""
        started = time.monotonic()
        mark = "✗"
        try:
            yield
            mark = "✓"
        finally:
            self.note(f"{mark} {title} {time.monotonic() - started:.0f} s")

    def now(self, detail: str) -> None:
        """Show nothing: an updating line would be mixed with other output."""

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
