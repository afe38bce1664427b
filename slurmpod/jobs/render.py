"""A recipe, its nodes and the user's choices -> the files of a job, in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType

from slurmpod.bundle.templates import render
from slurmpod.environment.image import IMAGE_USER
from slurmpod.jobs.allocation import Allocation, JobRefused
from slurmpod.jobs.cluster_rules import is_shared, shared_mounts
from slurmpod.jobs.containers import (
    EFA_IN_CONTAINER,
    EFA_OF_NODE,
    SCRIPTS,
    WITHOUT_CONTAINER,
    container_for,
)
from slurmpod.jobs.recipes.recipe import EACH_NODE, JOBS, Parameters, Place, Recipe
from slurmpod.jobs.variables import NO_VARIABLES, SCRIPT, Variables
from slurmpod.jobs.watcher import DEFAULT_WATCHING, WATCHED, Watching, watcher_files
from slurmpod.resolve import Resolved
from slurmpod.value import Value

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
JOB_FOLDER = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+", re.ASCII)
WITHOUT_NVLINK = frozenset({"A10G", "L4", "L40S"})
"""GPUs of g5, g6 and g6e, between which NCCL goes through the host's memory. Source: NCCL user
guide, NCCL_SHM_USE_CUDA_MEMCPY; awslabs/awsome-distributed-ai, efa-cheatsheet.md."""

LINE = 88
"""Characters of a line with arguments, unless one is longer."""


class Job(Value):
    """A rendered job: its files by name, and their folder on the cluster.

    `programs` are the files that users edit for their model and data.
    """

    script: str
    folder: str
    files: Mapping[str, bytes]
    programs: frozenset[str]

    @property
    def command(self) -> tuple[str, str]:
        """The command that submits it on the cluster."""
        return _submitter(self.script), f"{self.folder}/{self.script}"


def render_job(
    recipe: Recipe,
    place: Place,
    chosen: Parameters,
    *,
    name: str,
    folder: str | None,
    image: str | None = None,
    variables: Variables = NO_VARIABLES,
    watching: Watching = DEFAULT_WATCHING,
) -> Job:
    """Render a job; its files lie in `folder`, or where HyperPod's own user keeps files.

    It runs in a container of `image`, or of the recipe's own. Raises JobRefused.
    """
    if not NAME.fullmatch(name):
        raise JobRefused(f"'{name}' cannot be the name of a job", "use letters, digits, . _ and -")
    where = shared_folder(folder, place.resolved, name)
    container = container_for(recipe, place, image or chosen.image(place), where)
    values = _values(recipe, place, chosen, name=name, folder=where)
    values = {**values, **(container.values if container else WITHOUT_CONTAINER)}
    values |= {"variables": list(variables.values.items()), "secrets": variables.names_and_arns}
    values["watch"] = watching.words
    scripts = (*recipe.scripts, SCRIPT, *(SCRIPTS if container else ()))
    rendered = {_file_name(script, name): render(f"{JOBS}/{script}", values) for script in scripts}
    programs = recipe.programs
    texts = {**rendered, **chosen.files(place), **(container.files if container else {})}
    files = {path: text.encode() for path, text in texts.items()} | dict(programs)
    if watching.words and WATCHED in recipe.scripts:
        files |= watcher_files()
    ordered = MappingProxyType(dict(sorted(files.items())))
    return Job(next(iter(rendered)), where, ordered, frozenset(programs))


def shared_folder(folder: str | None, resolved: Resolved, name: str) -> str:
    """Return a folder that all nodes see: one that is chosen, or one of this name.

    Raises JobRefused.
    """
    return _checked(folder, resolved) if folder else f"{_shared(resolved)}/{IMAGE_USER}/{name}"


def refuse_unsuitable(recipe: Recipe, allocation: Allocation) -> None:
    """Raise JobRefused if a recipe cannot run at all."""
    if allocation.facts.accelerator in recipe.unsuitable:
        raise JobRefused(
            f"{recipe.name} cannot run on {allocation.facts.name}: PyTorch knows no device there",
            "render own-program, and start a program for PyTorch/XLA with it",
        )
    if recipe.instance_types and allocation.facts.name not in recipe.instance_types:
        raise JobRefused(
            f"{recipe.name} cannot run on {allocation.facts.name}",
            f"choose a partition of {' or '.join(recipe.instance_types)}",
        )


def _file_name(script: str, job: str) -> str:
    """Return what a script is called: `NAME.sbatch` and `NAME-after.sbatch`, or as its template."""
    path = PurePosixPath(script)
    _, dash, order = path.stem.partition("-")
    return f"{job}{dash}{order}.sbatch" if path.suffix == ".sbatch" else path.name


def _submitter(script: str) -> str:
    return "sbatch" if script.endswith(".sbatch") else "bash"


def _values(
    recipe: Recipe, place: Place, chosen: Parameters, *, name: str, folder: str
) -> Mapping[str, object]:
    allocation, facts = place.allocation, place.allocation.facts
    runs_by_itself = recipe.scripts == EACH_NODE
    words = ("" if runs_by_itself else recipe.program, *chosen.arguments(place))
    first = _file_name(recipe.scripts[0], name)
    base = f"{folder}/{name}"
    modules = [str(PurePosixPath(folder, each)) for each in chosen.module_folders]
    return {
        "accelerates": False,
        **chosen.for_scripts(place),
        "pythonpath": ":".join(modules),
        "name": name,
        "partition": allocation.partition,
        "nodes": allocation.nodes,
        "time": allocation.time,
        "folder": folder,
        "output": f"{folder}/%x_%j.out",
        "array_output": f"{folder}/%x_%A_%a.out",
        "submitter": _submitter(first),
        "submitted": f"{folder}/{first}",
        "script": f"{base}.sbatch",
        "after": f"{base}-after.sbatch",
        "prepares": f"{base}-prepare.sbatch",
        "compiles": f"{base}-compile.sbatch",
        "program": recipe.program,
        "together": recipe.together,
        "patience_seconds": recipe.patience_seconds,
        "wait_seconds": recipe.patience_seconds + 30,
        "lines": list(_lines([word for word in words if word])),
        "kind": facts.accelerator_kind,
        "has_efa": facts.efa_interfaces > 0,
        "efa_of_node": EFA_OF_NODE,
        "efa_in_container": EFA_IN_CONTAINER,
        "shares_through_host": facts.accelerator in WITHOUT_NVLINK and allocation.processes > 1,
        "processes": allocation.processes,
        "threads": allocation.threads,
        "array": f"0-{getattr(chosen, 'tasks', 1) - 1}%{allocation.nodes}",
    }


def _lines(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of a command, as many as a line takes; an option stays with its values."""
    line: list[str] = []
    for group in _options(words):
        if line and len(" ".join((*line, *group))) > LINE:
            yield line
            line = []
        line += group
    if line:
        yield line


def _options(words: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for word in words:
        if group and word.startswith("--"):
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _checked(folder: str, resolved: Resolved) -> str:
    """Return the folder if it is on shared storage."""
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
    """Return the mount path of the first shared file system."""
    mounts = shared_mounts(resolved)
    if not mounts:
        raise JobRefused(
            f"the nodes of {resolved.name} share no file system, on which a job could keep"
            " checkpoints",
            "add one under storage, e.g. lustre",
        )
    return mounts[0]
