"""`slurmpod job render`: a job that resumes, made for the cluster of an environment."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from slurmpod.cli.output import print_json, say
from slurmpod.jobs.render import Job, JobRefused, allocation_for
from slurmpod.problems import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the action takes."""
    parser.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    parser.add_argument("recipe", metavar="RECIPE", help="train-fsdp2 or own-program")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--group", help="run on this worker group")
    where.add_argument("--partition", help="run on this partition (default: the only one)")
    parser.add_argument("--nodes", type=int, metavar="N", help="how many nodes (default: all)")
    parser.add_argument("--name", help="name of the job (default: the recipe's)")
    parser.add_argument("--folder", metavar="PATH", help="where it will lie on the cluster")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the files into FOLDER")
    parser.add_argument("--json", action="store_true", help="print the list of files as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """List the files of the job, and write them where `--out` says."""
    try:
        job = _job(options)
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    if options.out:
        _write(options.out, job)
    if options.json:
        sizes = {name: len(content) for name, content in job.files.items()}
        print_json({"folder": job.folder, "script": job.script, "files": sizes})
    else:
        for name, content in job.files.items():
            sys.stdout.write(f"{len(content):>8}  {name}\n")
        _say_next(options, job)
    return ExitCode.OK


def _write(folder: Path, job: Job) -> None:
    """Write the files; a program that the user has changed stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in job.files.items():
        target = folder / name
        if name in job.programs and target.exists() and target.read_bytes() != content:
            say(f"{target} was changed since it was rendered, and is kept as it is")
        else:
            target.write_bytes(content)


def _job(options: argparse.Namespace) -> Job:
    from slurmpod.cli.environment import sound_environment  # none of these to check a script
    from slurmpod.environment.suggestion import did_you_mean
    from slurmpod.jobs.render import RECIPES, render_job

    resolved = sound_environment(options.file).resolved
    recipe = RECIPES.get(options.recipe)
    if recipe is None:
        raise JobRefused(
            f"there is no recipe '{options.recipe}'",
            did_you_mean(options.recipe, RECIPES) or f"choose {' or '.join(RECIPES)}",
        )
    allocation = allocation_for(
        resolved, group=options.group, partition=options.partition, nodes=options.nodes
    )
    name = options.name or recipe.name
    return render_job(resolved, recipe, allocation, name=name, folder=options.folder)


def _say_next(options: argparse.Namespace, job: Job) -> None:
    if not options.out:
        say("next: the same with --out FOLDER")
        return
    say(f"next: copy {shlex.quote(str(options.out))} to {job.folder} on the cluster, and there:")
    say(f"  sbatch {job.submitted}")
