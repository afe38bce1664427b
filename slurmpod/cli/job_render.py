"""`slurmpod job render`: a recipe for a cluster, as the files of a job."""

from __future__ import annotations

import argparse

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.job_files import show_job
from slurmpod.cli.job_variables import given_variables
from slurmpod.cli.job_watch_options import given_watching
from slurmpod.cli.output import say
from slurmpod.jobs.allocation import JobRefused, allocation_for
from slurmpod.jobs.recipes.chosen import chosen_parameters
from slurmpod.jobs.recipes.recipe import Place
from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod.jobs.render import Job, refuse_unsuitable, render_job
from slurmpod.problems import ExitCode


def run(options: argparse.Namespace) -> ExitCode:
    """List the files of the job, and write them if `--out` is given."""
    try:
        job = _job(options)
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    show_job(options, job)
    return ExitCode.OK


def _job(options: argparse.Namespace) -> Job:
    from slurmpod.environment.suggestion import did_you_mean  # only needed here

    resolved = sound_environment(options.file).resolved
    recipe = RECIPES.get(options.recipe)
    if recipe is None:
        raise JobRefused(
            f"unknown recipe '{options.recipe}'",
            did_you_mean(options.recipe, RECIPES) or f"choose one of {', '.join(RECIPES)}",
        )
    allocation = allocation_for(
        resolved, group=options.group, partition=options.partition, nodes=options.nodes
    )
    refuse_unsuitable(recipe, allocation)
    place = Place(resolved, allocation)
    chosen = chosen_parameters(recipe, place, options.parameters)
    image = options.container_image or chosen.image(place)
    return render_job(
        recipe,
        place,
        chosen,
        name=options.name or recipe.name,
        folder=options.folder,
        image=image,
        variables=given_variables(options, resolved, in_container=bool(image)),
        watching=given_watching(options),
    )
