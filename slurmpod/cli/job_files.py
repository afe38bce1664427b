"""The files of a rendered job: list them, write them and name the next step."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from slurmpod.cli.output import print_json, say
from slurmpod.jobs.render import Job
from slurmpod.whole_file import write_whole

DEEP = 3
"""Deeper files are counted with their folder."""


def show_job(options: argparse.Namespace, job: Job) -> None:
    """List the files of the job, and write them if `--out` is given."""
    if options.out:
        write_job(options.out, job)
    if options.json:
        sizes = {name: len(content) for name, content in job.files.items()}
        print_json({"folder": job.folder, "script": job.script, "files": sizes})
        return
    for name, size in _listed(job.files).items():
        sys.stdout.write(f"{size:>8}  {name}\n")
    _say_next(options, job)


def _listed(files: Mapping[str, bytes]) -> Mapping[str, int]:
    """Return sizes by name; a bundled folder, as of packages, is one entry."""
    sizes: Counter[str] = Counter()
    for name, content in files.items():
        parts = name.split("/")
        sizes[name if len(parts) < DEEP else "/".join((*parts[: DEEP - 1], ""))] += len(content)
    return sizes


def write_job(folder: Path, job: Job) -> None:
    """Write the files, except programs that the user has changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in job.files.items():
        target = folder / name
        if name in job.programs and target.exists() and target.read_bytes() != content:
            say(f"{target} was changed since it was rendered, and is not overwritten")
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, content)


def _say_next(options: argparse.Namespace, job: Job) -> None:
    if not options.out:
        say("next: add --out FOLDER to write the files")
        return
    environment, folder = (shlex.quote(str(path)) for path in (options.file, options.out))
    say(f"next: slurmpod job submit {environment} {folder}")
    say(f"  or copy it to {job.folder} on the cluster, and there:")
    say(f"  {' '.join(job.command)}")
