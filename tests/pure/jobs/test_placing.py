"""Tasks and nodes that Slurm refuses though there is room: each version has its own reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.cli.environment import sound_environment
from slurmpod.jobs.lint import verdict

SLURMS = ("24.11", "26.05")
RESOLVED = sound_environment(
    Path(__file__).parents[2] / "cases" / "jobs" / "environment.yaml"
).resolved

OLD, NEW = SLURMS
REFUSED_BY = {
    # The first node of dev has two CPUs; a job has it for itself there.
    "-p dev -O -N 1 -c 1 -n 2": "",
    "-p dev -O -N 1 -n 3": f"{OLD} {NEW}",
    "-p dev -O -n 9": OLD,
    "-p dev -O -c 3 -n 2": OLD,
    # On shared nodes only tasks with CPUs of their own are placed.
    "-p cpu -O -n 9": "",
    "-p cpu -O -N 1 -c 1 -n 2": f"{OLD} {NEW}",
    "-p cpu -O -c 1 -n 2": OLD,
    "-p cpu -O -N 1 -c 1 -n 2 --mincpus=2": "",
    "-p cpu -O -N 2 -n 5 --ntasks-per-node=2": f"{OLD} {NEW}",
    "-p cpu -O -N 1 -n 4 --ntasks-per-node=2": OLD,
    "-p cpu -O -n 5 --ntasks-per-node=2": f"{OLD} {NEW}",
    "-p p5 -O --exclusive -n 193": OLD,
    "-p p5 -O --exclusive -n 385": f"{OLD} {NEW}",
    "-p cpu -O -n 4 --ntasks-per-node=2": "",
    "-p p5 -O -n 96 --ntasks-per-node=8 --gpus-per-node=1": f"{OLD} {NEW}",
    "-p p5 -O -N 1 -n 3 --ntasks-per-node=2 --gres=gpu:8": OLD,
    "-p p5 -O -N 1 -n 8 --ntasks-per-node=2 --gpus=1": OLD,
    "-p p5 -O -N 1 -n 4 --ntasks-per-node=2 --gpus=1": "",
    "-p p5 -O -N 2 -n 5 --ntasks-per-node=2 --gpus=2": f"{OLD} {NEW}",
    "-p p5 -O -n 1 --ntasks-per-node=2 --gres=gpu:8": NEW,
    # A node gets the GPUs of one task, unless that has named CPUs.
    "-p p5 -O -n 2 --gpus-per-task=2": "",
    "-p p5 -O -n 3 --gpus-per-task=2 --mem-per-cpu=16G": f"{OLD} {NEW}",
    "-p p5 -O -N 1 -n 4 --gpus-per-task=1 --mincpus=4": f"{OLD} {NEW}",
    "-p p5 -O -n 3 --gpus-per-task=1 -c 1 -N 1": OLD,
    "-p p5 -O -n 2 --gpus-per-task=1 --ntasks-per-node=2": NEW,
    # Without --overcommit, too: one task, of several on a node.
    "-p cpu -n 1 --ntasks-per-node=2": NEW,
    "-p dev -n 1 --ntasks-per-node=2": "",
    "-p cpu -n 1 -c 3 --ntasks-per-node=3": f"{OLD} {NEW}",
    "-p p5 -N 1 -n 3 --ntasks-per-socket=1 --gpus=1": f"{OLD} {NEW}",
    "-p p5 -N 1 -n 2 --ntasks-per-socket=1 --gpus=1": "",
    # Nodes that have all that is asked of each.
    "-p dev -O -N 3 --gpus=16 --mem-per-cpu=33G": f"{OLD} {NEW}",
    "-p dev -N 3 --mem=64G": f"{OLD} {NEW}",
    "-p dev -N 2 --mem=64G": "",
    "-p dev -N 3-9 --gpus=8": f"{OLD} {NEW}",
    "-p dev -N 6 -c 3": f"{OLD} {NEW}",
    "-p cpu,p5 -N 2 --gpus=8": "",
    "-p dev -n 5 --ntasks-per-node=2 --mem-per-cpu=33G": f"{OLD} {NEW}",
    # Memory is that of all tasks that a node may have, though there are fewer.
    "-p dev -n 5 --ntasks-per-node=96 --mem-per-cpu=33G": f"{OLD} {NEW}",
    "-p cpu -n 1 --ntasks-per-node=4 --mem-per-cpu=5G": NEW,
    # No nodes at all are one node, for what is asked of it.
    "-p cpu --nodes=0": "",
    "-p cpu --nodes=0 --gpus=1": f"{OLD} {NEW}",
    "-p cpu --nodes=0 -n 64": f"{OLD} {NEW}",
    "-p p5 --nodes=0 --gpus=16": "",
}
"""What the real sbatch of these versions said, on the cluster of the cases."""


@pytest.mark.parametrize("options", REFUSED_BY)
def test_each_version_refuses_what_it_was_seen_to_refuse(options: str) -> None:
    text = f"#!/bin/bash\n#SBATCH {options}\nsrun hostname\n"
    refusing = [slurm for slurm in SLURMS if verdict(text, RESOLVED, slurm)]
    assert refusing == REFUSED_BY[options].split()


@pytest.mark.parametrize("options", REFUSED_BY)
def test_without_a_version_only_what_all_refuse_is_a_problem(options: str) -> None:
    text = f"#!/bin/bash\n#SBATCH {options}\nsrun hostname\n"
    assert bool(verdict(text, RESOLVED)) == (REFUSED_BY[options].split() == list(SLURMS))


def test_what_no_node_has_is_reported_once() -> None:
    text = "#!/bin/bash\n#SBATCH -p cpu -O -n 2 -c 1 --gpus=1\nsrun hostname\n"
    assert [each.rule for each in verdict(text, RESOLVED, OLD)] == ["JOB-042"]


def test_nodes_that_have_each_thing_but_not_all_together_are_no_nodes() -> None:
    text = "#!/bin/bash\n#SBATCH -p dev --nodes=3 --mem=64G\nsrun hostname\n"
    assert [each.rule for each in verdict(text, RESOLVED, OLD)] == ["JOB-066"]
