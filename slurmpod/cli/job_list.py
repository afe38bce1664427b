"""`slurmpod job list`: the recipes and their requirements."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from slurmpod.cli.output import print_json, say
from slurmpod.jobs.recipes.recipe import Recipe
from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod.problems import ExitCode


def run(options: argparse.Namespace) -> ExitCode:
    """Print the recipes."""
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
    """Return a recipe's properties, and its options with their defaults."""
    parameters = recipe.parameters().model_dump(mode="json")
    return {**asdict(recipe), "parameters": parameters, "unsuitable": sorted(recipe.unsuitable)}
