"""`slurmpod job image`: a job that imports a container image to a file on shared storage."""

from __future__ import annotations

import argparse
import re

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.job_files import show_job
from slurmpod.cli.output import say
from slurmpod.jobs.allocation import JobRefused, allocation_for
from slurmpod.jobs.image_import import import_job
from slurmpod.jobs.recipes.recipe import Place
from slurmpod.problems import ExitCode


def run(options: argparse.Namespace) -> ExitCode:
    """List the files of the job, and write them if `--out` is given."""
    resolved = sound_environment(options.file).resolved
    last = options.source.rpartition("/")[2]
    usual = re.sub(r"[^A-Za-z0-9._-]", "-", f"image-{last}", flags=re.ASCII)[:64]
    try:
        place = Place(
            resolved,
            allocation_for(resolved, group=options.group, partition=options.partition, nodes=1),
        )
        job = import_job(options.source, place, name=options.name or usual, folder=options.folder)
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    show_job(options, job)
    return ExitCode.OK
