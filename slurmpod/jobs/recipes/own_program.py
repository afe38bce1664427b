"""`own-program`: a program of the user's own under all that a resuming job needs around it."""

from __future__ import annotations

from slurmpod.jobs.recipes.recipe import SHARED_FOLDER, Recipe

RECIPE = Recipe(
    "own-program",
    "any program, named behind the script's name, that keeps checkpoints of its own",
    (SHARED_FOLDER, "a Python with torchrun in $PYTHON, on that file system"),
)
