"""The job that makes a Python environment: its parameters, which the command computes."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.jobs.recipes.recipe import Parameters, Place, Recipe

REQUIREMENTS = "requirements.txt"
WHEELS = "wheels.txt"
SOURCES = "sources.txt"


class VenvParameters(Parameters):
    """The packages, their index, and the destination."""

    at: str
    """The folder under whose name programs find the environment."""

    requirements: str
    """Exact pins with hashes, as pip reads them."""

    index: str = ""
    """Address of the index that has the files, where they do not come from a bucket."""

    region: str = ""
    """The bucket's Region."""

    wheels: tuple[str, ...] = ()
    """Addresses of the files in the environment's bucket."""

    sources: str = ""
    """What is built before, a line for each."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return its folder, and the source of the files."""
        del place
        if self.wheels:
            return ("--at", self.at, "--wheels", WHEELS, "--region", self.region)
        built = ("--sources", SOURCES) if self.sources else ()
        return ("--at", self.at, "--index", self.index, *built)

    def files(self, place: Place) -> Mapping[str, str]:
        """Return the pins, and the lists of wheels and of sources where there are some."""
        del place
        wheels = "".join(f"{each}\n" for each in self.wheels)
        lists = {REQUIREMENTS: self.requirements, WHEELS: wheels, SOURCES: self.sources}
        return {name: text for name, text in lists.items() if text or name == REQUIREMENTS}

    def for_scripts(self, place: Place) -> Mapping[str, object]:
        """Return whether the job builds something."""
        del place
        return {"builds": bool(self.sources)}


VENV = Recipe(
    "venv",
    "a Python environment with exactly what is pinned, on storage that all nodes share",
    ("Python 3.10 or later with its module venv on the nodes",),
    program="make_venv.py",
    scripts=("venv.sbatch",),
    parameters=VenvParameters,
)

LOCKED_PYTORCH = VENV.folder / "pytorch.lock"
"""PyTorch 2.13 with all that it needs, for Python 3.10 and later: `make lock` writes it."""
