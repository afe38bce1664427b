"""The samples of `smp2-llama`, which its processes share as SMP shares their work."""

from __future__ import annotations

import json
import subprocess
from itertools import chain, pairwise

import pytest

from tests.golden_files import ROOT
from tests.nodes.torch_folder import torch_folder

PROCESSES, SAMPLES, LENGTH, STEPS = 16, 3, 32, 2
VOCABULARY = 32_000
MESHES = ((1, 1), (2, 1), (1, 2), (2, 4), (1, 16))
"""Degrees of tensor and of context parallelism."""

PROGRAM = f"""\
import json
from samples import share_of
found = []
for tensor, context in {MESHES}:
    keys = {{"tensor_parallel_degree": tensor, "context_parallel_degree": context}}
    parts = [rank // tensor % context for rank in range({PROCESSES})]
    shares = [share_of(rank, {PROCESSES}, keys, part) for rank, part in enumerate(parts)]
    batches = lambda step: [each.batch(step, {SAMPLES}, {LENGTH}).tolist() for each in shares]
    found.append(list(map(batches, range({STEPS}))))
print(json.dumps(found))
"""
Batch = list[list[int]]


@pytest.fixture(scope="module")
def batches() -> list[list[list[Batch]]]:
    """Return the batches of each mesh, step and process."""
    folder = ROOT / "templates" / "jobs" / "smp2-llama"
    command = [str(torch_folder() / "python"), "-Bc", PROGRAM]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found: list[list[list[Batch]]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("mesh", range(len(MESHES)))
def test_the_parts_of_a_group_are_whole_samples(
    batches: list[list[list[Batch]]], mesh: int
) -> None:
    tensor, context = MESHES[mesh]
    seen = set()
    for step in batches[mesh]:
        for start in range(0, PROCESSES, tensor * context):
            group = step[start : start + tensor * context]
            copies = [group[first : first + tensor] for first in range(0, len(group), tensor)]
            assert all(part == copy[0] for copy in copies for part in copy)
            for sample in range(SAMPLES):
                whole = joined([copy[0][sample] for copy in copies])
                assert len(whole) == LENGTH
                assert all((one + 1) % VOCABULARY == next_one for one, next_one in pairwise(whole))
                seen.add(whole[0])
    assert len(seen) == STEPS * SAMPLES * PROCESSES // (tensor * context)


def joined(parts: list[list[int]]) -> list[int]:
    """Return a sample whose parts have one of its first chunks and one of its last."""
    half = len(parts[0]) // 2
    return list(chain(*(part[:half] for part in parts), *(part[half:] for part in parts[::-1])))
