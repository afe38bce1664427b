"""`slurmpod rehearse`: deploy an environment into an embedded AWS with real Slurm nodes."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentTypeError
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from slurmpod.bundle import scripts_of
from slurmpod.cli.batch_script import problems_of
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.report_file import require_writable, write_page
from slurmpod.operations.deploy.cdk import CDK_IS_MISSING, cdk_script
from slurmpod.operations.job_folder import NoJob, read_job_folder
from slurmpod.operations.progress import Progress
from slurmpod.platform_profiles.canary import canary_of, write_canary
from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.profile import Profile
from slurmpod.problems import ExitCode, InvalidEnvironment, WorkFailed, has_errors
from slurmpod.rehearsal.drills.drill import DrilledJob
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.registry import (
    ALL,
    NAMES,
    STRIKES_TEXT,
    chosen,
    impossible,
    unmet_needs,
)
from slurmpod.rehearsal.nodes.errors import BakeFailed
from slurmpod.rehearsal.nodes.host_check import missing
from slurmpod.rehearsal.processes import Rehearsal, RehearsalFailed
from slurmpod.rehearsal.rehearse import Options, Outcome, rehearse
from slurmpod.rehearsal.report import as_data, print_kept, print_outcome
from slurmpod.resolve import Resolved
from slurmpod.rules.check import Sound

HOST = re.compile(r"127\.0\.0\.1|[a-z0-9-]+(?:\.[a-z0-9-]+)*(?<=[a-z-])")
"""Valid for `--allow`: names, which nodes find in /etc/hosts, and this machine itself."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep it running, also after a failure, and print how to inspect it",
    )
    parser.add_argument(
        "--cloud-only", action="store_true", help="deploy without nodes; needs no Linux and no root"
    )
    parser.add_argument("--image", help="node image from `slurmpod prepare --name`")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        type=_host_and_port,
        metavar="HOST:PORT",
        help="allow nodes to reach one port of one host, such as a mirror; may be repeated",
    )
    parser.add_argument("--port", type=_port, help="port of the embedded AWS (default: a free one)")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        choices=NAMES,
        metavar="NAME",
        help="inject a fault after the first job; may be repeated, 'all' for all faults",
    )
    parser.add_argument(
        "--job",
        type=Path,
        metavar="FOLDER",
        help="inject the faults into this job from 'job render'; -- ARGUMENTS are passed to it",
    )
    parser.set_defaults(after_dashes=[])
    parser.add_argument("--python", metavar="PATH", help="the Python of the job, on the cluster")
    parser.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="NAME|FILE",
        help="platform profile on top of the default; may be repeated (docs/fidelity.md)",
    )
    parser.add_argument(
        "--observed",
        type=Path,
        metavar="FILE",
        help="rehearse a canary for `patch --after-canary`, with nodes from `observe`'s FILE",
    )
    parser.add_argument(
        "--newest",
        action="append",
        default=[],
        metavar="NAME|FILE",
        help="profile that `slurmpod patch` installs in a kept rehearsal",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write a report page, also after a failure",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Rehearse the environment and show the result; a loss by a fault is a failure."""
    if options.report:
        require_writable(options.report)
    sound = sound_environment(options.file)
    resolved = sound.resolved
    profile, newest = _profiles(options)
    faults = _faults(resolved, options)
    if options.fault and not _suits_faults(resolved, options, faults):
        return ExitCode.USAGE
    if unknown := _unknown_types(resolved):
        say(f"unknown instance types, which cannot be rehearsed: {', '.join(unknown)}")
        say("  fix: use a known type in an environment that `extends` this one")
        return ExitCode.FAILED
    job = _job(resolved, options)
    if cdk_script() is None:
        say(CDK_IS_MISSING)
        return ExitCode.UNPREPARED
    if not options.cloud_only:
        missing_parts = missing(sum(group.count for group in resolved.groups))
        if missing_parts:
            say("\n".join(map(str, missing_parts)))
            say_next("rehearse --cloud-only", options.file)
            return ExitCode.UNPREPARED
    progress = Progress()
    wanted = Options(
        cloud_only=options.cloud_only,
        keep=options.keep,
        port=options.port,
        image=options.image,
        allowed=tuple(options.allow),
        faults=faults,
        job=job,
        profile=profile,
        newest=newest,
    )
    try:
        look = partial(_write_report, sound, options.report) if options.report else None
        outcome = rehearse(options.file, resolved, wanted, progress, look)
    except (RehearsalFailed, BakeFailed) as failure:
        say(f"\nthe rehearsal failed:\n{failure}")
        if isinstance(failure, RehearsalFailed) and failure.kept:
            print_kept(failure.kept, failure.node, Console(stderr=True, highlight=False))
        return ExitCode.FAILED
    if options.json:
        print_json(as_data(outcome, progress.seconds))
    else:
        print_outcome(outcome)
    return _proven(outcome, resolved, options)


def _profiles(options: argparse.Namespace) -> tuple[Profile, Profile | None]:
    """Return the profile of nodes, and that of a patch; raises InvalidEnvironment."""
    observed = [str(options.observed)] if options.observed else []
    profile = load([*options.profile, *observed]).profile
    return profile, load(options.newest).profile if options.newest else None


def _proven(outcome: Outcome, resolved: Resolved, options: argparse.Namespace) -> ExitCode:
    """Judge faults and the user's job; record what ran well on an observed image."""
    is_sound = not any(report.lost for report in outcome.faults)
    if not is_sound or not all(report.is_sound for report in outcome.drills):
        return ExitCode.FAILED
    if options.observed and not options.cloud_only:
        proof = canary_of(options.observed, scripts_of(resolved), str(options.job or ""))
        file = write_canary(options.observed, proof)
        say(
            f"{file} has the proof: slurmpod patch {options.file} --after-canary {options.observed}"
        )
    return ExitCode.OK


def _faults(resolved: Resolved, options: argparse.Namespace) -> tuple[Fault, ...]:
    """Return the faults that the user asks for; of 'all', those possible here."""
    faults = chosen(options.fault)
    if ALL not in options.fault:
        return faults
    left_out: set[str] = set()
    for text, names in impossible(resolved, faults).items():
        say(f"skipped: {', '.join(names)}: {text}")
        left_out.update(names)
    return tuple(
        fault
        for fault in faults
        if fault.name not in left_out and (fault.strike or not options.job)
    )


def _write_report(sound: Sound, out: Path, rehearsal: Rehearsal, failure: str) -> None:
    """Write the page; a rehearsal does not fail because it could not be written."""
    from slurmpod.cli.report import known_of_rehearsal  # only needed for a report
    from slurmpod.report.page import page_of

    try:
        write_page(out, page_of(known_of_rehearsal(rehearsal, sound, failure)))
    except WorkFailed as refusal:
        say(str(refusal))


def _unknown_types(resolved: Resolved) -> list[str]:
    """Return the unknown instance types, which have no nodes here."""
    return sorted(
        name
        for group in resolved.groups
        for name, facts in zip(group.instance_types, group.facts_of_types, strict=True)
        if facts is None
    )


def _suits_faults(resolved: Resolved, options: argparse.Namespace, faults: Sequence[Fault]) -> bool:
    """Return whether faults can be injected into the cluster; print the reasons if not."""
    missing_here = ("nodes are required (no --cloud-only)",) if options.cloud_only else ()
    without = [fault.name for fault in faults if options.job and not fault.strike]
    unfit = (f"no job can be drilled with {name}; {STRIKES_TEXT}" for name in without)
    reasons = (*missing_here, *unfit, *unmet_needs(resolved, faults))
    for reason in reasons:
        say(f"--fault: {reason}")
    return not reasons


def _job(resolved: Resolved, options: argparse.Namespace) -> DrilledJob | None:
    """Read the job, before anything starts; raises NoJob and InvalidEnvironment."""
    if not options.job:
        if options.after_dashes or options.python:
            raise NoJob("--python and arguments after -- need a job: --job FOLDER")
        return None
    if not options.fault and not options.observed:
        raise NoJob(f"--job needs a fault to inject: --fault NAME; {STRIKES_TEXT}")
    folder = read_job_folder(options.job)
    problems = problems_of(folder.script, folder.text(folder.script) or "", resolved, folder.text)
    if has_errors(problems):
        raise InvalidEnvironment(problems)
    return DrilledJob(folder, tuple(options.after_dashes), options.python)


def _host_and_port(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not HOST.fullmatch(host):
        raise ArgumentTypeError(f"'{text}' is not HOST:PORT: a name, or 127.0.0.1, and a port")
    return f"{host}:{_port(port)}"


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise ArgumentTypeError(f"'{text}' is not a port: a number from 1 to 65535")
    return int(text)
