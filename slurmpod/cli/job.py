"""`slurmpod job`: jobs for a HyperPod cluster: checked, rendered, planned, submitted, followed."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from slurmpod.cli import job_cluster_actions, job_metrics, job_plan, job_venv
from slurmpod.cli.job_files import add_place_arguments, show_job
from slurmpod.cli.output import counted, print_json, say
from slurmpod.jobs.allocation import JobRefused, allocation_for
from slurmpod.jobs.lint import lint, unreadable
from slurmpod.jobs.recipes.chosen import chosen_parameters
from slurmpod.jobs.recipes.recipe import Place, Recipe
from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod.jobs.render import Job, refuse_unsuitable, render_job
from slurmpod.problems import ExitCode, Problem, Severity, has_errors
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.resolve import Resolved


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    checks = actions.add_parser("lint", help="show every problem of batch scripts")
    checks.add_argument("scripts", type=Path, nargs="+", metavar="FILE", help="batch scripts")
    checks.add_argument("--env", type=Path, metavar="ENV", help="hold them against this cluster")
    checks.add_argument("--json", action="store_true", help="print the problems as JSON")
    checks.set_defaults(act=_lint)
    renders = actions.add_parser("render", help="make a job that resumes for a cluster")
    _add_render_arguments(renders)
    renders.set_defaults(act=_render)
    lists = actions.add_parser("list", help="show the recipes, and what each needs")
    lists.add_argument("--json", action="store_true", help="print them as JSON")
    lists.set_defaults(act=_list)
    venvs = actions.add_parser("venv", help="make a job that installs pinned packages")
    job_venv.add_arguments(venvs)
    venvs.set_defaults(act=job_venv.run)
    metrics = actions.add_parser("metrics", help="show loss, throughput and restarts of a log")
    job_metrics.add_arguments(metrics)
    metrics.set_defaults(act=job_metrics.run)
    plans = actions.add_parser("plan", help="show what a training needs of a cluster")
    job_plan.add_arguments(plans)
    plans.set_defaults(act=job_plan.run)
    job_cluster_actions.add_arguments(actions)


def run(options: argparse.Namespace) -> ExitCode:
    """Do what the chosen action does."""
    code: ExitCode = options.act(options)
    return code


def _lint(options: argparse.Namespace) -> ExitCode:
    """Check the scripts and print what is wrong with them."""
    resolved = _resolved(options.env) if options.env else None
    problems = [problem for file in options.scripts for problem in _problems(file, resolved)]
    if options.json:
        files = list(map(str, options.scripts))
        print_json({"files": files, "problems": [problem.as_dict() for problem in problems]})
    else:
        _print_text(problems, len(options.scripts))
    return ExitCode.INVALID if has_errors(problems) else ExitCode.OK


def _resolved(file: Path) -> Resolved:
    from slurmpod.cli.environment import sound_environment  # not needed to check a script alone

    return sound_environment(file).resolved


def _problems(file: Path, resolved: Resolved | None) -> Sequence[Problem]:
    try:
        return lint(str(file), read_text(file), resolved, partial(_beside, file))
    except Unreadable as error:
        return [unreadable(str(file), error.message)]


def _beside(file: Path, name: str) -> str | None:
    """Return the text of a script in the same folder; None where there is none to read."""
    try:
        return read_text(file.with_name(name))
    except Unreadable:
        return None


def _print_text(problems: Sequence[Problem], files: int) -> None:
    if problems:
        from slurmpod.problem_text import problems_text  # only needed on mistakes

        sys.stdout.write(problems_text(problems, sys.stdout) + "\n\n")
    counts = Counter(problem.severity for problem in problems)
    found = ", ".join(counted(counts[each], each) for each in Severity if counts[each])
    sys.stdout.write(f"{counted(files, 'script')}: {found or 'no problems'}\n")


def _list(options: argparse.Namespace) -> ExitCode:
    """Show the recipes."""
    if options.json:
        print_json([_recipe_data(recipe) for recipe in RECIPES.values()])
        return ExitCode.OK
    for recipe in RECIPES.values():
        sys.stdout.write(f"{recipe.name}: {recipe.starts}\n")
        sys.stdout.writelines(f"  needs {need}\n" for need in recipe.needs)
        for kind in sorted(recipe.unsuitable):
            sys.stdout.write(f"  not on {kind}\n")
        if recipe.instance_types:
            sys.stdout.write(f"  only on {', '.join(recipe.instance_types)}\n")
    say("next: slurmpod job render environments/NAME.yaml RECIPE --out FOLDER")
    return ExitCode.OK


def _recipe_data(recipe: Recipe) -> dict[str, object]:
    """Return what a recipe is; its options by name, with their defaults."""
    parameters = recipe.parameters().model_dump(mode="json")
    return {**asdict(recipe), "parameters": parameters, "unsuitable": sorted(recipe.unsuitable)}


def _add_render_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the action takes."""
    parser.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    parser.add_argument("recipe", metavar="RECIPE", help=f"one of {', '.join(RECIPES)}")
    parser.add_argument("--nodes", type=int, metavar="N", help="how many nodes (default: all)")
    parser.add_argument(
        "--parameters", type=Path, metavar="FILE", help="what the recipe leaves to choose, as YAML"
    )
    parser.add_argument(
        "--container-image", metavar="IMAGE", help="run in a container: a .sqsh file, or a name"
    )
    parser.add_argument("--name", help="name of the job (default: the recipe's)")
    add_place_arguments(parser)


def _render(options: argparse.Namespace) -> ExitCode:
    """List the files of the job, and write them where `--out` says."""
    try:
        job = _job(options)
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    show_job(options, job)
    return ExitCode.OK


def _job(options: argparse.Namespace) -> Job:
    from slurmpod.environment.suggestion import did_you_mean  # only needed here

    resolved = _resolved(options.file)
    recipe = RECIPES.get(options.recipe)
    if recipe is None:
        raise JobRefused(
            f"there is no recipe '{options.recipe}'",
            did_you_mean(options.recipe, RECIPES) or f"choose one of {', '.join(RECIPES)}",
        )
    allocation = allocation_for(
        resolved, group=options.group, partition=options.partition, nodes=options.nodes
    )
    refuse_unsuitable(recipe, allocation)
    place = Place(resolved, allocation)
    chosen = chosen_parameters(recipe, place, options.parameters)
    name = options.name or recipe.name
    return render_job(
        recipe, place, chosen, name=name, folder=options.folder, image=options.container_image
    )
