"""Trainings that compare losses, `gpt2-compile` and `ddp`: the job fails where these part."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from slurmpod.jobs.recipes.registry import RECIPES
from tests.programs.jobs.torch_runs import Outcome, Run, outcomes

RECIPE = RECIPES["gpt2-compile"]
DDP = RECIPES["ddp"]
NUMBERS = {
    "device": "cpu",
    "half": "none",
    "learning-rate": 1e-3,
    "tolerance": 0.01,
    "backend": "aot_eager",
    "batch-per-process": 2,
    "steps": 1,
    "warm-up-steps": 1,
    "samples": 8,
    "layers": 1,
    "width": 8,
    "heads": 1,
    "vocabulary": 16,
    "block": 8,
}
WORDS = tuple(str(word) for name, value in NUMBERS.items() for word in (f"--{name}", value))
COMPILED = "torch.compile(shared, backend=options.backend)"
SPOILED = "shared.register_forward_hook(lambda *found: found[-1] * {}) and shared"
FACTORS = {"same": "1.0", "other": "1.5", "no-number": "float('nan')"}
"""By what the loss of stand-ins for a compiler differs."""

SHARED = "DistributedDataParallel(model)"
DDP_WORDS = (
    "--device=cpu --steps=4 --samples-per-process=8 --width=32 --learning-rate=0.05"
    " --tolerance=1e-05"
)

RUNS = (
    *(Run(name, 1, WORDS, program=f"{name}.py") for name in FACTORS),
    Run("scaled", 1, (*WORDS, "--half", "float16"), program="same.py"),
    Run("shared", 2, tuple(DDP_WORDS.split()), program=DDP.program),
    Run("lost", 2, tuple(DDP_WORDS.split()), program="lost.py"),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    folder = tmp_path_factory.mktemp("compiled")
    program = RECIPE.programs[RECIPE.program].decode()
    assert COMPILED in program
    for name, factor in FACTORS.items():
        (folder / f"{name}.py").write_text(program.replace(COMPILED, SPOILED.format(factor)))
    checked = DDP.programs[DDP.program].decode()
    assert SHARED in checked
    (folder / DDP.program).write_text(checked)
    (folder / "lost.py").write_text(checked.replace(SHARED, "model"))
    done = outcomes(RECIPE, folder, RUNS)
    return {each.name: outcome for each, outcome in zip(RUNS, done, strict=True)}


@pytest.mark.parametrize(
    ("name", "status"), [("same", 0), ("scaled", 0), ("other", 1), ("no-number", 1)]
)
def test_a_compiler_that_changes_the_loss_fails_the_job(
    found: Mapping[str, Outcome], name: str, status: int
) -> None:
    assert found[name].status == status, found[name].log
    assert ("the loss is " in found[name].log) == bool(status)


def test_a_loss_that_is_no_number_is_told(found: Mapping[str, Outcome]) -> None:
    assert "the loss is nan compiled, and " in found["no-number"].log


def test_gradients_that_are_lost_end_the_training(found: Mapping[str, Outcome]) -> None:
    shared, lost = found["shared"], found["lost"]
    assert shared.status == 0, shared.logs
    assert "done after step 4: the losses are those of one process" in shared.log
    assert lost.status == 1
    assert "the loss of step 2 is " in lost.log
