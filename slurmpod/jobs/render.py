"""Recipes, and a recipe with the nodes that it gets -> the files of a job, in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from slurmpod.bundle.templates import FOLDER, render
from slurmpod.environment.access import IMAGE_USER
from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.jobs.cluster_rules import is_shared, most_nodes, shared_mounts
from slurmpod.resolve import Resolved

NEURON_CORES = {"Trainium": 2, "Trainium2": 4}
"""Logical NeuronCores of a chip, each of which takes one process. Source: AWS Neuron, "Developer
Guide for Training with PyTorch NeuronX": two on Trn1, four by default on Trn2."""


class JobRefused(Exception):
    """A job that cannot be rendered for this cluster, and what to do about it."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


@dataclass(frozen=True)
class Allocation:
    """A partition whose nodes are all alike. `time` is the longest that it allows."""

    partition: str
    nodes: int
    time: str
    facts: InstanceType

    @property
    def processes(self) -> int:
        """Processes of a node: one for each GPU or NeuronCore, and one where there are none."""
        count = self.facts.accelerator_count or 1
        if self.facts.accelerator_kind == "neuron":
            return count * NEURON_CORES[self.facts.accelerator]
        return count

    @property
    def threads(self) -> int:
        """Threads for each process, such that none has to share its core."""
        return max(1, self.facts.cores // self.processes)


def allocation_for(
    resolved: Resolved, *, group: str | None, partition: str | None, nodes: int | None
) -> Allocation:
    """Choose the nodes: of a group or a partition, or of the only one there is.

    Without `nodes` it is all that one job can have. Raises JobRefused.
    """
    name = _partition(resolved, group, partition)
    most = most_nodes(resolved, name)
    wanted = most if nodes is None else nodes
    if not 1 <= wanted <= most:
        raise JobRefused(
            f"a job of {wanted} nodes cannot run: partition {name} gives one job {most or 'none'}",
            f"ask for 1 to {most} nodes" if most else "give the group a higher count",
        )
    limits = {each.name: each.max_time for each in resolved.slurm.partitions}
    return Allocation(name, wanted, limits.get(name) or "UNLIMITED", _facts(resolved, name))


def _partition(resolved: Resolved, group: str | None, partition: str | None) -> str:
    workers = resolved.groups_with(Role.WORKER)
    names = sorted({each.partition for each in workers if each.partition})
    if partition:
        return _known("partition", partition, names)
    if group:
        by_group = {each.name: each.partition or "" for each in workers}
        return by_group[_known("worker group", group, sorted(by_group))]
    if len(names) == 1:
        return names[0]
    raise JobRefused(
        f"{resolved.name} has several partitions: {', '.join(names)}"
        if names
        else f"{resolved.name} has no workers",
        "choose one with --partition" if names else "add a worker group to the cluster",
    )


def _known(kind: str, name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    raise JobRefused(
        f"there is no {kind} '{name}' (there are: {', '.join(names)})",
        did_you_mean(name, names) or f"name one of them with --{kind.rpartition(' ')[2]}",
    )


def _facts(resolved: Resolved, partition: str) -> InstanceType:
    """Return what nodes of a partition have at least; their accelerators must be the same."""
    groups = [each for each in resolved.groups_with(Role.WORKER) if each.partition == partition]
    types = sorted({name for group in groups for name in group.instance_types})
    unknown = [name for name in types if name not in instance_types()]
    if unknown:
        raise JobRefused(
            f"nothing is known about {', '.join(unknown)}", "choose a partition of other nodes"
        )
    facts = [instance_types()[name] for name in types]
    if len({_abilities(each) for each in facts}) > 1:
        raise JobRefused(
            f"partition {partition} has nodes of several kinds: {', '.join(types)}",
            "give types that have the same accelerators a partition of their own",
        )
    return min(facts, key=lambda each: each.cores)


def _abilities(facts: InstanceType) -> tuple[object, ...]:
    """Return what must be the same on all nodes of a job."""
    return (facts.accelerator, facts.accelerator_count, facts.efa_interfaces > 0)


JOBS = "jobs"
"""The folder of job templates; programs of a recipe lie below, in a folder of its name."""

WITHOUT_FSDP2 = frozenset({"Trainium"})
"""Accelerators that PyTorch does not know as devices: its native backend for Neuron (TorchNeuron,
"TorchNeuron: Native PyTorch on AWS Neuron") supports Trainium2 and later."""


@dataclass(frozen=True)
class Recipe:
    """One kind of job. `program` is what each process runs; "" where its user names one.

    `starts` and `needs` say it to users: what it does, and what has to be there.
    """

    name: str
    starts: str
    needs: tuple[str, ...]
    program: str = ""
    unsuitable: frozenset[str] = frozenset()

    @property
    def folder(self) -> Path:
        """Where its programs lie, which are taken as they are."""
        return FOLDER / JOBS / self.name


SHARED_FOLDER = "a file system that all nodes share, such as storage.lustre"
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "train-fsdp2",
            "a PyTorch training with FSDP2 and checkpoints, for your model and data in model.py",
            (SHARED_FOLDER, "a Python with PyTorch 2.13 in $PYTHON, on that file system"),
            program="train.py",
            unsuitable=WITHOUT_FSDP2,
        ),
        Recipe(
            "own-program",
            "any program, named behind the script's name, that keeps checkpoints of its own",
            (SHARED_FOLDER, "a Python with torchrun in $PYTHON, on that file system"),
        ),
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
