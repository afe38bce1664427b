"""`slurmpod job stage`: copy data and models to shared storage by a job; `--evict` removes them."""

from __future__ import annotations

import argparse
import hashlib
import re
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from slurmpod.cli.confirmation import is_named
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.job_files import show_job, write_job
from slurmpod.cli.job_on_cluster import shell_for, submit_job
from slurmpod.cli.output import say
from slurmpod.jobs.allocation import JobRefused, allocation_for, most_nodes
from slurmpod.jobs.recipes.recipe import Place
from slurmpod.jobs.render import Job, render_job, shared_folder
from slurmpod.jobs.staging.reach import S3, folder_in_s3, refuse_unreadable
from slurmpod.jobs.staging.recipe import STAGE, StageParameters
from slurmpod.operations.job_folder import read_job_folder
from slurmpod.operations.node_shell import CommandFailed, NodeShell
from slurmpod.operations.staging_index import KEPT_BACK, Entry, read_index
from slurmpod.problems import ExitCode, WorkFailed
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.resolve import Resolved

USUAL_NODES = 4
"""Default limit of nodes that copy: each brings some Gb/s."""


def run(options: argparse.Namespace) -> ExitCode:
    """Copy a source by a job, or remove its copy."""
    resolved = sound_environment(options.file).resolved
    try:
        job = _job(options, resolved, _parameters(options, resolved))
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    if options.out:
        show_job(options, job)
        return ExitCode.OK
    if not (shell := shell_for(options, resolved)):
        return ExitCode.FAILED
    if options.evict and not _may_evict(options, resolved, shell):
        return ExitCode.FAILED
    with tempfile.TemporaryDirectory(prefix="slurmpod-stage-") as folder:
        write_job(Path(folder), job)
        own: dict[str, Any] = {
            "python": None,
            "env": [],
            "env_file": None,
            "secret": [],
            "yes": True,
        }
        given = argparse.Namespace(**{**vars(options), **own, "after_dashes": ()})
        return submit_job(given, resolved, read_job_folder(Path(folder)), shell)


def _parameters(options: argparse.Namespace, resolved: Resolved) -> StageParameters:
    """Return what to stage where; all mistakes are refused before a node is asked."""
    wanted = 1 if options.evict else 2
    if len(options.places) != wanted:
        raise JobRefused(
            f"arguments given: {len(options.places)}, needed: {wanted}",
            "write --evict DEST" if options.evict else "write SOURCE DEST, or --evict DEST",
        )
    at = shared_folder(options.places[-1], resolved, "")
    if options.evict:
        return StageParameters(at=at)
    source = options.places[0]
    if source.startswith(S3):
        prefix = folder_in_s3(source)
        refuse_unreadable(resolved, *_bucket_and_key(prefix))
        return StageParameters(at=at, source=prefix, region=resolved.region)
    text = _text(Path(source))
    _refuse_entries(resolved, read_index(source, text))
    return StageParameters(at=at, index=text, region=resolved.region)


def _refuse_entries(resolved: Resolved, entries: tuple[Entry, ...]) -> None:
    """Refuse sources that nodes may not read; warn of those that they may not reach."""
    for entry in entries:
        if place := entry.bucket_and_key:
            refuse_unreadable(resolved, *place)
    if resolved.network.closed and not all(entry.bucket_and_key for entry in entries):
        say(f"the nodes of {resolved.name} have no internet (network.closed): web servers in the")
        say("  index must be in your network")


def _bucket_and_key(address: str) -> tuple[str, str]:
    bucket, _, key = address.removeprefix(S3).partition("/")
    return bucket, key


def _text(index: Path) -> str:
    try:
        return read_text(index)
    except Unreadable as reason:
        raise JobRefused(
            f"{index}: {reason.message}", "write s3://BUCKET/PREFIX/, or name an index file"
        ) from None


def _job(options: argparse.Namespace, resolved: Resolved, chosen: StageParameters) -> Job:
    place = {"group": options.group, "partition": options.partition}
    allocation = allocation_for(resolved, **place, nodes=1)
    nodes = options.nodes or min(USUAL_NODES, most_nodes(resolved, allocation.partition))
    allocation = allocation_for(resolved, **place, nodes=nodes)
    # Jobs with the same name wait for each other: those for one folder share a name.
    digest = hashlib.sha256(chosen.at.encode()).hexdigest()[:8]
    last = re.sub(r"[^A-Za-z0-9._-]", "-", PurePosixPath(chosen.at).name, flags=re.ASCII)
    name = f"stage-{last[:40]}-{digest}"
    return render_job(STAGE, Place(resolved, allocation), chosen, name=name, folder=options.folder)


def _may_evict(options: argparse.Namespace, resolved: Resolved, shell: NodeShell) -> bool:
    """Show what was staged, and ask for the environment's name before removing it."""
    at = options.places[-1]
    try:
        summary = shell.run(f"cat {at}/{KEPT_BACK}/summary").strip()
    except CommandFailed:
        raise WorkFailed(f"nothing was staged at {at}") from None
    say(f"staged there: {summary}; files changed since then stay")
    return is_named(resolved.environment, options, f"remove them from {at}")
