"""What a batch script asks for, in numbers."""

from __future__ import annotations

import pytest

from slurmpod.jobs.demand import gpus_of
from slurmpod.jobs.script import read_script


@pytest.mark.parametrize(
    ("option", "count"),
    [
        ("--gres=gpu:8,gpu:1", 1),
        ("--gres=gpu:9,gpu:2,gpu:8", 8),
        ("--gres=gpu:8,gpu:0", 8),
        ("--gres=gpu:0", 0),
        ("--gres=gpu:8,gpu", 1),
        ("--gpus=9,1", 1),
        ("--gpus-per-node=1,9", 9),
        ("--gpus-per-task=1,8", 1),
    ],
)
def test_one_of_several_counts_of_gpus_counts(option: str, count: int) -> None:
    script = read_script("", f"#!/bin/bash\n#SBATCH {option}\nsrun hostname\n")
    name = option.partition("=")[0].removeprefix("--")
    assert gpus_of(script, name).count == count
