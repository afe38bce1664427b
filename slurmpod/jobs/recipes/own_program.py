"""`own-program`: a program of the user's own under all that a resuming job needs around it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from slurmpod.jobs.recipes.recipe import SHARED_FOLDER, Parameters, Place, Recipe

Folder = Annotated[str, Field(pattern=r"^[^:\x00\n]+$", max_length=1024, examples=["src"])]


class OwnProgramParameters(Parameters):
    """What is around the program; its own options stand behind the script's name."""

    pythonpath: tuple[Folder, ...] = (".",)
    """Where Python looks for modules first: folders below the job's, or whole paths."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return none: the user provides them."""
        del place
        return ()

    @property
    def module_folders(self) -> tuple[str, ...]:
        """The user's choice."""
        return self.pythonpath


RECIPE = Recipe(
    "own-program",
    "any program, given after the script's name, that saves its own checkpoints",
    (SHARED_FOLDER, "a Python with torchrun in $PYTHON, on that file system"),
    parameters=OwnProgramParameters,
    more="""\
A program is a file, or a module after `-m`, whose package is in the job's folder:

    slurmpod job submit environments/dev.yaml own -- -m trainer.main --steps 100

Python finds modules of that folder wherever the program is (`pythonpath`). In a container, the
folders of its image are searched after them.""",
)
