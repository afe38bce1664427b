"""The training of `bert-pipeline`: stages and pipelines compute what one process computes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from slurmpod.jobs.recipes.registry import RECIPES
from tests.programs.jobs.torch_runs import Outcome, Run, outcomes

RECIPE = RECIPES["bert-pipeline"]
STEPS, SAVE_EVERY = 4, 2
NUMBERS = {
    "microbatches": 12,
    "sequence": 16,
    "warm-up-share": 0.2843,
    "steps": STEPS,
    "save-before-end": 300,
    "save-every": SAVE_EVERY,
    "keep": 3,
    "learning-rate": 0.03,
    "seed": 7,
    "dropout": 0,
    "precision": "float64",
    "tolerance": 1e-9,
    "layers": 5,
    "width": 16,
    "heads": 2,
    "vocabulary": 50,
    "device": "cpu",
}
SAME = r"^loss and gradients are those of one process: (\S+), alone \1$"
LAST = f"step-{STEPS:08d}/COMPLETE"


def run(name: str, pipelines: int, partitions: int, checkpoints: str = "") -> Run:
    given = {
        "checkpoints": checkpoints or name,
        "partitions": partitions,
        "stages-per-partition": 4 // partitions,
        "batch": 48 // pipelines,
        **NUMBERS,
    }
    words = [str(word) for key, value in given.items() for word in (f"--{key}", value)]
    removed = f"{checkpoints}/{LAST}" if checkpoints else ""
    return Run(name, pipelines * partitions, tuple(words), removed)


RUNS = (
    run("one", 1, 1),
    run("two", 1, 2),
    run("four", 2, 2),
    run("goes-on", 1, 2, "four"),
    replace(run("sums", 1, 2), program="sums.py"),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    folder = tmp_path_factory.mktemp("pipeline")
    program = RECIPE.programs[RECIPE.program].decode()
    sums = program.replace("loss_fn=mean_loss", "loss_fn=mean_loss, scale_grads=False")
    (folder / "sums.py").write_text(sums)
    done = outcomes(RECIPE, folder, RUNS)
    return {each.name: outcome for each, outcome in zip(RUNS, done, strict=True)}


@pytest.mark.parametrize("name", ["one", "two", "four"])
def test_loss_and_gradients_are_those_of_the_whole_model(
    found: Mapping[str, Outcome], name: str
) -> None:
    assert found[name].status == 0, found[name].logs
    assert re.search(SAME, found[name].log, re.MULTILINE)


def test_gradients_of_which_each_is_a_sum_end_the_training(found: Mapping[str, Outcome]) -> None:
    assert found["sums"].status == 1
    assert "the gradient of " in found["sums"].log
    assert " is another one than with one process: by " in found["sums"].log
    assert found["sums"].losses == {}


@pytest.mark.parametrize("name", ["two", "four"])
def test_losses_are_those_of_one_process(found: Mapping[str, Outcome], name: str) -> None:
    one = found["one"].losses
    assert sorted(one) == list(range(1, STEPS + 1))
    assert len({round(loss, 3) for loss in one.values()}) == STEPS
    assert found[name].losses == pytest.approx(one, abs=1e-6)


def test_other_pipelines_go_on_from_a_checkpoint(found: Mapping[str, Outcome]) -> None:
    log = found["goes-on"].log
    assert found["goes-on"].status == 0, log
    assert f"resuming after step {SAVE_EVERY} with 1x2 processes, 2x2 before" in log
    rest = {step: loss for step, loss in found["one"].losses.items() if step > SAVE_EVERY}
    assert found["goes-on"].losses == pytest.approx(rest, abs=1e-6)
