"""What a recipe is: the scripts and programs of one kind of job, and what its user may choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import BeforeValidator

from slurmpod.bundle.templates import FOLDER
from slurmpod.environment.base import StrictModel
from slurmpod.jobs.allocation import Allocation
from slurmpod.resolve import Resolved
from slurmpod.value import Value

JOBS = "jobs"
"""The folder of job templates; programs of a recipe lie below, in a folder of its name."""

SHARED_PROGRAMS = FOLDER / JOBS / "shared"
"""The folder of programs that several recipes have."""

EACH_NODE = ("each_node.sbatch",)
NODES_THEMSELVES = "it looks at the nodes themselves"

SHARED_FOLDER = "a file system that all nodes share, such as storage.lustre"
PYTORCH = "a Python with PyTorch 2.13 in $PYTHON, on that file system (slurmpod job venv)"

WITHOUT_PYTORCH = frozenset({"Trainium"})
"""Accelerators that PyTorch does not know as devices: its native backend for Neuron (TorchNeuron,
"TorchNeuron: Native PyTorch on AWS Neuron") supports Trainium2 and later."""

WITHOUT_BFLOAT16 = frozenset({"T4"})
"""GPUs that compute with bfloat16 by emulation alone: those before Ampere (NVIDIA, "CUDA C++
Programming Guide", compute capabilities)."""

DEVICES = {"gpu": "cuda", "neuron": "neuron"}
"""What PyTorch calls accelerators, by the catalog's kinds."""


def _number(value: object) -> object:
    """Return the number that a text is: the reader of YAML leaves fractions as text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


Fraction = Annotated[float, BeforeValidator(_number)]
"""A number that may have a fraction, such as 0.25 or 6e-3."""


class Place(Value):
    """Where a job is to run: nodes of a cluster."""

    resolved: Resolved
    allocation: Allocation

    @property
    def device(self) -> str:
        """What PyTorch calls the accelerators of the nodes."""
        return DEVICES.get(self.allocation.facts.accelerator_kind, "cpu")

    @property
    def processes(self) -> int:
        """Processes of the whole job."""
        return self.allocation.nodes * self.allocation.processes


class Mistake(Value):
    """A value that cannot be where the job is to run, and what to do about it."""

    field: str
    message: str
    fix: str


class Lacking(Value):
    """Why a recipe has nothing for a key that others know, and what to do instead."""

    why: str
    fix: str


def unshared_width(width: int, heads: int) -> Iterator[Mistake]:
    """Refuse heads of the attention of which each would have another width."""
    if width % heads:
        message = f"a width of {width} cannot be shared by {heads} heads"
        yield Mistake("heads", message, "choose a number that divides the width")


class Parameters(StrictModel):
    """What the user of a recipe may choose, in a file of YAML; each field is an option.

    The program is given all of them, so defaults stand here alone. `renamed` are keys of other
    texts, with the names that they have here; `lacking` are those that the recipe does not have.
    """

    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({})
    lacking: ClassVar[Mapping[str, Lacking]] = MappingProxyType({})

    def mistakes(self, place: Place) -> Iterator[Mistake]:
        """Yield what does not fit together, or not the place."""
        del place
        yield from ()

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return what the program is given: options and their values."""
        del place
        return tuple(self._options())

    def files(self, place: Place) -> Mapping[str, str]:
        """Return files beside the scripts that depend on the place, by name."""
        del place
        return {}

    @property
    def module_folders(self) -> tuple[str, ...]:
        """Folders, below the job's, in which Python looks for modules first."""
        return ()

    def image(self, place: Place) -> str:
        """Return the image of the job's container where no other one is named; "" for none."""
        del place
        return ""

    def for_scripts(self, place: Place) -> Mapping[str, object]:
        """Return what scripts of this recipe alone have beside, by its name in their templates."""
        del place
        return {}

    def _options(self) -> Iterator[str]:
        for name, value in self:
            yield f"--{name.replace('_', '-')}"
            yield from map(str, value if isinstance(value, tuple) else (value,))


class Recipe(Value):
    """One kind of job. `program` is what each process runs; "" where its user names one.

    `starts`, `more` and `needs` say it to users: what it does, how it ends, and what has to be
    there. `scripts` are templates below `templates/jobs`, of which the first is what is submitted;
    `shared` are programs that other recipes have, too. With the script EACH_NODE `program` runs
    once on each node, for `patience_seconds` at most, and `together` puts together what they found.
    It runs everywhere but on `unsuitable` accelerators, or on `instance_types` alone; and in a
    container unless `why_no_container` says why not.
    """

    name: str
    starts: str
    needs: tuple[str, ...]
    program: str = ""
    together: str = ""
    patience_seconds: int = 120
    scripts: tuple[str, ...] = ("training.sbatch", "step.sh")
    shared: tuple[str, ...] = ()
    parameters: type[Parameters] = Parameters
    unsuitable: frozenset[str] = frozenset()
    instance_types: tuple[str, ...] = ()
    why_no_container: str = ""
    more: str = ""

    @property
    def programs(self) -> Mapping[str, bytes]:
        """The programs, which are taken as they are, by name."""
        shared = [SHARED_PROGRAMS / name for name in self.shared]
        own = (*self.folder.glob("*.py"), *self.folder.glob("*.txt"))
        return {path.name: path.read_bytes() for path in (*own, *shared)}

    @property
    def folder(self) -> Path:
        """Where the programs are that no other recipe has."""
        return FOLDER / JOBS / self.name
