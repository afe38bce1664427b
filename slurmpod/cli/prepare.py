"""`slurmpod prepare`: make this machine ready for rehearsals."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess

from slurmpod.cli.output import say
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.cdk import CdkFailed, cdk_script, install_cdk
from slurmpod.rehearsal.nodes.host_check import missing, missing_packages, raise_limits
from slurmpod.rehearsal.progress import Progress
from slurmpod.rehearsal.rehearse import baked_image

SMALL_CLUSTER = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes: nothing."""


def run(_: argparse.Namespace) -> ExitCode:
    """Install the CDK's command line and Debian packages, raise limits, bake the node image.

    What we may not install, we say.
    """
    if not _has_cdk():
        return ExitCode.UNPREPARED
    packages = missing_packages()
    if packages and _may_install():
        say(f"installing Debian packages: {' '.join(packages)}")
        _install(packages)
    for change in raise_limits():
        say(change)
    missing_parts = missing(SMALL_CLUSTER)
    if missing_parts:
        say("\n".join(map(str, missing_parts)))
        return ExitCode.UNPREPARED
    baked_image(Progress())
    return ExitCode.OK


def _has_cdk() -> bool:
    """Tell whether the CDK's command line is there, after installing it where it was not."""
    if cdk_script():
        return True
    say("installing the CDK command line")
    try:
        install_cdk()
    except CdkFailed as failure:
        say(f"{failure}\n  fix: install it in the folder where you work: npm install aws-cdk@2")
        return False
    return True


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _install(packages: list[str]) -> None:
    """Install packages; what is still missing afterwards is reported by the caller."""
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(
            ["apt-get", "-qq", *arguments],
            env=variables,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
