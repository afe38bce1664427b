"""The training of `fsdp2-hybrid`: every mesh has the losses of one process, from any checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from slurmpod.jobs.recipes.registry import RECIPES
from tests.programs.jobs.torch_runs import Outcome, Run, outcomes

RECIPE = RECIPES["fsdp2-hybrid"]
STEPS, SAVE_EVERY = 4, 2
NUMBERS = {
    "precision": "float64",
    "seed": 7,
    "keep": 3,
    "steps": STEPS,
    "save-before-end": 300,
    "save-every": SAVE_EVERY,
    "batch": 8,
    "learning-rate": 0.03,
    "warmup": 2,
    "width": 32,
    "depth": 2,
    "heads": 4,
    "dropout": 0,
    "loading-horizon": 2,
    "device": "cpu",
}
AFTER_CUT = f"resuming after step {SAVE_EVERY} with {{}} processes, {{}} before"


def run(name: str, mesh: str, activations: str, checkpoints: str = "", removed: str = "") -> Run:
    replicate, shard, tensor = map(int, mesh.split("x"))
    given = {
        "replicate": replicate,
        "shard": shard,
        "tensor": tensor,
        "activations": activations,
        "checkpoints": checkpoints or name,
        **NUMBERS,
    }
    words = [str(word) for key, value in given.items() for word in (f"--{key}", value)]
    return Run(name, replicate * shard * tensor, tuple(words), removed)


LAST = f"step-{STEPS:08d}/COMPLETE"
RUNS = (
    run("one", "1x1x1", "kept"),
    run("cube", "2x2x2", "offloaded"),
    run("shards", "1x2x1", "computed-again"),
    run("parts", "1x1x2", "kept"),
    run("cube-goes-on", "1x1x2", "offloaded", "cube", removed=f"cube/{LAST}"),
    run("shards-go-on", "1x1x1", "kept", "shards", removed=f"shards/{LAST}"),
    replace(run("misfit", "1x1x2", "kept"), processes=1),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    folder = tmp_path_factory.mktemp("hybrid")
    done = outcomes(RECIPE, folder, RUNS)
    return {each.name: outcome for each, outcome in zip(RUNS, done, strict=True)}


@pytest.mark.parametrize("name", ["cube", "shards", "parts"])
def test_losses_of_a_mesh_are_those_of_one_process(found: Mapping[str, Outcome], name: str) -> None:
    assert found[name].status == 0, found[name].logs
    one = found["one"].losses
    assert sorted(one) == list(range(1, STEPS + 1))
    assert len({round(loss, 4) for loss in one.values()}) == STEPS
    assert found[name].losses == pytest.approx(one, abs=1e-6)
    assert f"done after step {STEPS}\n" in found[name].log


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("cube-goes-on", "2x2x2", "1x1x2"), ("shards-go-on", "1x2x1", "1x1x1")],
)
def test_another_mesh_goes_on_from_a_checkpoint_that_was_written_in_the_background(
    found: Mapping[str, Outcome], name: str, before: str, after: str
) -> None:
    """The training went on while it was written, and changed its weights."""
    assert found[name].status == 0, found[name].logs
    assert f"step-{STEPS:08d} is skipped: it has no sound COMPLETE" in found[name].log
    assert AFTER_CUT.format(after, before) in found[name].log
    rest = {step: loss for step, loss in found["one"].losses.items() if step > SAVE_EVERY}
    assert found[name].losses == pytest.approx(rest, abs=1e-6)


def test_no_process_says_anything_else(found: Mapping[str, Outcome]) -> None:
    assert {log for each in found.values() for log in each.logs[1:]} == {""}


def test_a_mesh_of_other_processes_ends_the_training(found: Mapping[str, Outcome]) -> None:
    wrong = found["misfit"]
    assert wrong.log == "a mesh of 1 x 1 x 2 is not one of 1 processes\n"
    assert wrong.status == 1
