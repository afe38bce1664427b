"""`slurmpod prepare`: prepare this machine for rehearsals."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict
from pathlib import Path

from slurmpod.cli.output import if_interrupted, print_json, say
from slurmpod.operations.deploy.cdk import CdkFailed, cdk_script, install_cdk
from slurmpod.operations.progress import Progress
from slurmpod.platform_profiles.slurm_versions import DEFAULT_SLURM, SlurmVersion
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.nodes.additions import NAME, Additions, deb_file, name_additions
from slurmpod.rehearsal.nodes.host_check import MissingPart
from slurmpod.rehearsal.nodes.preparation import prepare_machine

PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
"""Valid package names (Debian policy, 5.6.1)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: additions to the node image for a custom image."""
    parser.add_argument(
        "--with", dest="packages", nargs="+", default=[], metavar="PACKAGE", help="Debian packages"
    )
    parser.add_argument(
        "--pip", nargs="+", default=[], metavar="PACKAGE", help="packages of PyPI, as wheels"
    )
    parser.add_argument(
        "--from-deb",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="Debian package files",
    )
    parser.add_argument(
        "--cdk-only", action="store_true", help="only install what `slurmpod deploy` needs: the CDK"
    )
    parser.add_argument(
        "--slurm",
        type=SlurmVersion,
        choices=[*SlurmVersion],
        default=DEFAULT_SLURM,
        help=f"bake the image with this Slurm (default: {DEFAULT_SLURM}, the default profile's)",
    )
    parser.add_argument("--name", metavar="IMAGE", help="the image's name, for rehearse --image")
    parser.add_argument("--json", action="store_true", help="print what is missing as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Install the CDK's command line and Debian packages, raise limits, bake the node image.

    Prints what it may not install. With additions, bakes a named image that has them.
    """
    additions = _additions(options)
    if additions is None:
        return ExitCode.USAGE
    with if_interrupted("finished steps are kept; the same command does the rest"):
        lacks = _prepare(options, additions)
    if options.json:
        print_json({"missing": [asdict(each) for each in lacks]})
    return ExitCode.UNPREPARED if lacks else ExitCode.OK


def _prepare(options: argparse.Namespace, additions: Additions) -> list[MissingPart]:
    """Do everything possible, and return what this machine still lacks."""
    if lack := _missing_cdk():
        return [lack]
    if options.cdk_only:
        return []
    lacks = prepare_machine(Progress(), additions, options.slurm)
    if options.name and not lacks:
        name_additions(options.name, additions)
        say(f"rehearse with it: slurmpod rehearse --image {options.name} FILE")
    return lacks


def _additions(options: argparse.Namespace) -> Additions | None:
    """Return the additions; None, after printing the reason, if one is invalid."""
    wrong = _wrong_use(options)
    if wrong:
        say(wrong)
        return None
    try:
        debs = tuple(deb_file(path) for path in options.from_deb)
    except OSError as error:
        say(f"--from-deb: {error.filename}: {error.strerror}")
        return None
    return Additions(tuple(sorted(options.packages)), tuple(sorted(options.pip)), debs)


def _wrong_use(options: argparse.Namespace) -> str:
    adds = bool(options.packages or options.pip or options.from_deb)
    if adds != bool(options.name):
        return "--name and additions (--with, --pip, --from-deb) must be used together"
    if options.name and not NAME.fullmatch(options.name):
        return f"--name: '{options.name}' is not an image name: a-z, 0-9, '.', '_' and '-'"
    odd = [name for name in options.packages if not PACKAGE.fullmatch(name)]
    return f"--with: '{odd[0]}' is not a Debian package name" if odd else ""


def _missing_cdk() -> MissingPart | None:
    """Install the CDK's command line if missing; return it, after printing why, if that fails."""
    if cdk_script():
        return None
    say("installing the CDK command line")
    try:
        install_cdk()
    except CdkFailed as failure:
        fix = "install it in the current folder: npm install aws-cdk@2"
        part = MissingPart("the CDK command line", str(failure), fix)
        say(str(part))
        return part
    return None
