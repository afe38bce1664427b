"""Recipes, and a recipe with an allocation -> the files of a job, in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from slurmpod.bundle.templates import FOLDER, render
from slurmpod.environment.access import IMAGE_USER
from slurmpod.jobs.allocation import Allocation, JobRefused
from slurmpod.jobs.cluster_rules import is_shared, shared_mounts
from slurmpod.resolve import Resolved

JOBS = "jobs"
"""The folder of job templates; programs of a recipe lie below, in a folder of its name."""

WITHOUT_FSDP2 = frozenset({"Trainium"})
"""Accelerators that PyTorch does not know as devices: its native backend for Neuron (TorchNeuron,
"TorchNeuron: Native PyTorch on AWS Neuron") supports Trainium2 and later."""


@dataclass(frozen=True)
class Recipe:
    """One kind of job. `program` is what each process runs; "" where its user names one."""

    name: str
    summary: str
    program: str = ""
    unsuitable: frozenset[str] = frozenset()

    @property
    def folder(self) -> Path:
        """Where its programs lie, which are taken as they are."""
        return FOLDER / JOBS / self.name


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "train-fsdp2",
            "PyTorch training with FSDP2 and checkpoints, to be filled with a model and data",
            program="train.py",
            unsuitable=WITHOUT_FSDP2,
        ),
        Recipe("own-program", "any program that torchrun starts, and that keeps checkpoints"),
    )
}


STEP = "step.sh"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
JOB_FOLDER = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+", re.ASCII)
WITHOUT_NVLINK = frozenset({"A10G", "L4", "L40S"})
"""GPUs of g5, g6 and g6e, between which NCCL goes through the host's memory. Source: NCCL user
guide, NCCL_SHM_USE_CUDA_MEMCPY; awslabs/awsome-distributed-ai, efa-cheatsheet.md."""

DEVICES = {"gpu": "cuda", "neuron": "neuron"}
"""What PyTorch calls accelerators, by the catalog's kinds."""


@dataclass(frozen=True)
class Job:
    """A rendered job: its files by name, and the folder of the cluster in which they are to lie.

    `programs` are the names of the files that users change: their model and data go there.
    """

    script: str
    folder: str
    files: Mapping[str, bytes]
    programs: frozenset[str]

    @property
    def submitted(self) -> str:
        """What sbatch is given on the cluster."""
        return f"{self.folder}/{self.script}"


def render_job(
    resolved: Resolved, recipe: Recipe, allocation: Allocation, *, name: str, folder: str | None
) -> Job:
    """Render a job; its files lie in `folder`, or where HyperPod's own user keeps files.

    Raises JobRefused.
    """
    if not NAME.fullmatch(name):
        raise JobRefused(f"'{name}' cannot be the name of a job", "use letters, digits, . _ and -")
    if allocation.facts.accelerator in recipe.unsuitable:
        raise JobRefused(
            f"{recipe.name} cannot run on {allocation.facts.name}: PyTorch has no FSDP2 there",
            "render own-program, and start a program for PyTorch/XLA with it",
        )
    where = _checked(folder, resolved) if folder else f"{_shared(resolved)}/{IMAGE_USER}/{name}"
    script = f"{name}.sbatch"
    values = _values(recipe, allocation, name=name, folder=where)
    rendered = {
        script: render("jobs/job.sbatch", values),
        STEP: render(f"jobs/{STEP}", values),
    }
    programs = {path.name: path.read_bytes() for path in recipe.folder.glob("*.py")}
    files = {path: text.encode() for path, text in rendered.items()} | programs
    ordered = MappingProxyType(dict(sorted(files.items())))
    return Job(script, where, ordered, frozenset(programs))


def _values(
    recipe: Recipe, allocation: Allocation, *, name: str, folder: str
) -> Mapping[str, object]:
    facts = allocation.facts
    return {
        "name": name,
        "partition": allocation.partition,
        "nodes": allocation.nodes,
        "time": allocation.time,
        "folder": folder,
        "output": f"{folder}/%x_%j.out",
        "submitted": f"{folder}/{name}.sbatch",
        "program": recipe.program,
        "device": DEVICES.get(facts.accelerator_kind, "cpu"),
        "kind": facts.accelerator_kind,
        "has_efa": facts.efa_interfaces > 0,
        "shares_through_host": facts.accelerator in WITHOUT_NVLINK and allocation.processes > 1,
        "processes": allocation.processes,
        "threads": allocation.threads,
    }


def _checked(folder: str, resolved: Resolved) -> str:
    """Return the folder if all nodes see it."""
    if not JOB_FOLDER.fullmatch(folder):
        raise JobRefused(
            f"'{folder}' is no folder for jobs", "write a path from / on, without blanks"
        )
    if not is_shared(resolved, folder):
        raise JobRefused(
            f"{folder} is on no file system that all nodes share",
            f"choose a folder below {_shared(resolved)}",
        )
    return folder


def _shared(resolved: Resolved) -> str:
    """Return where the first shared file system is mounted."""
    mounts = shared_mounts(resolved)
    if not mounts:
        raise JobRefused(
            f"the nodes of {resolved.name} share no file system, on which a job could keep"
            " checkpoints",
            "add one under storage, e.g. lustre",
        )
    return mounts[0]
