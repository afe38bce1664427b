"""`slurmpod job venv`: a job that creates a pinned Python environment on shared storage."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from urllib.parse import urlsplit

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.job_files import show_job
from slurmpod.cli.output import if_interrupted, say
from slurmpod.jobs.allocation import JobRefused, allocation_for
from slurmpod.jobs.recipes.recipe import Place
from slurmpod.jobs.render import Job, render_job, shared_folder
from slurmpod.jobs.venv.lock import Locked
from slurmpod.jobs.venv.pins import INDEX, checked_requirements, pinned_wheels
from slurmpod.jobs.venv.recipe import LOCKED_PYTORCH, VENV, VenvParameters
from slurmpod.operations.resolved_packages import packages_of
from slurmpod.operations.source_folders import with_copies
from slurmpod.operations.wheels import Wheel, wheels_of
from slurmpod.problems import ExitCode, InvalidEnvironment, Problem, Severity, Where, counted
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.resolve import Resolved
from slurmpod.value import Value

ENVIRONMENT = "venv"


class Packages(Value):
    """The packages to install, and the files of those to build, by path in the job's folder."""

    locked: Locked
    files: Mapping[str, bytes] = field(default_factory=dict)


def run(options: argparse.Namespace) -> ExitCode:
    """List the files of the job; write them and mirror the wheels if the user asks for it."""
    resolved = sound_environment(options.file).resolved
    try:
        wheels = _wheels(options, resolved)
        job = _job(options, resolved, wheels)
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    if options.mirror:
        _mirror(resolved, wheels)
    elif wheels:
        say(f"nodes fetch {counted(len(wheels), 'wheel')} from {resolved.lifecycle.bucket}:")
        say("  copy them there with --mirror")
    show_job(options, job)
    return ExitCode.OK


def _wheels(options: argparse.Namespace, resolved: Resolved) -> tuple[Wheel, ...]:
    """Return the wheels that nodes fetch from the bucket; refuse options that contradict this."""
    if not options.wheels:
        if options.mirror:
            raise JobRefused("there are no wheels to mirror", "name their folder with --wheels")
        if resolved.network.closed and not options.index:
            raise JobRefused(
                f"the nodes of {resolved.name} cannot reach a package index (network.closed)",
                "collect wheels, and name their folder with --wheels; or name an index in your"
                " network with --index",
            )
        return ()
    if options.index:
        raise JobRefused("wheels come from the bucket, not from an index", "remove --index")
    if resolved.lifecycle.mode == "managed":
        raise JobRefused(
            f"{resolved.name} has no bucket that nodes read (lifecycle.mode: managed)",
            "give --requirements and --index",
        )
    return wheels_of(options.wheels, resolved)


def _job(options: argparse.Namespace, resolved: Resolved, wheels: tuple[Wheel, ...]) -> Job:
    allocation = allocation_for(resolved, group=options.group, partition=options.partition, nodes=1)
    at = shared_folder(options.at, resolved, ENVIRONMENT)
    index = "" if wheels else _checked_index(options.index or INDEX)
    packages = _packages(options, wheels, allocation.facts.architecture)
    chosen = VenvParameters(
        at=at,
        requirements=packages.locked.pins,
        index=index,
        region=resolved.region,
        wheels=tuple(wheel.address for wheel in wheels),
        sources="".join(each.line for each in packages.locked.sources),
    )
    place = Place(resolved, allocation)
    job = render_job(VENV, place, chosen, name=options.name, folder=options.folder)
    return replace(job, files={**job.files, **packages.files})


def _packages(
    options: argparse.Namespace, wheels: tuple[Wheel, ...], architecture: str
) -> Packages:
    if options.wheels:
        sums = {each.name: each.sha256 for each in wheels}
        return Packages(Locked(pinned_wheels(str(options.wheels), sums)))
    if options.repository:
        version, index = options.python_version, options.index or ""
        file, locked = packages_of(options.repository, architecture, version, index)
        sources, files = with_copies(locked.sources, file, options.out)
        for source in sources:
            say(f"the job builds {source.told}")
        return Packages(Locked(locked.pins, sources), files)
    return Packages(Locked(_pins(options.requirements or LOCKED_PYTORCH)))


def _pins(file: Path) -> str:
    try:
        return checked_requirements(str(file), read_text(file))
    except Unreadable as reason:
        where = Where(str(file), reason.line)
        unread = Problem("ENV-001", Severity.ERROR, where, reason.message, reason.fix)
        raise InvalidEnvironment([unread]) from None


def _checked_index(index: str) -> str:
    """Return an address that is safe to write into a script."""
    parts = urlsplit(index)
    if parts.username or parts.password or parts.query:
        raise JobRefused(
            "the index address contains a secret, which would be written to the job's script",
            "put it into ~/.netrc of the job's user, or into /etc/pip.conf of the nodes",
        )
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise JobRefused(f"'{index}' is not the address of an index", f"write one such as {INDEX}")
    return index


def _mirror(resolved: Resolved, wheels: tuple[Wheel, ...]) -> None:
    from slurmpod.aws.account import AwsAccount  # AWS's libraries are only needed here
    from slurmpod.aws.bucket import Bucket
    from slurmpod.aws.clients import clients_of
    from slurmpod.operations.deployed import require_account
    from slurmpod.operations.wheels import mirror_wheels

    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), resolved.environment)
    with if_interrupted("the wheels above are copied; the same command copies the rest"):
        mirror_wheels(Bucket(clients, resolved.lifecycle.bucket), wheels, say)
