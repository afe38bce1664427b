"""The training of `pretrain`: every mesh has the losses of one process, from any checkpoint."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

import pytest

from slurmpod.jobs.metrics.log import lives
from slurmpod.jobs.recipes.registry import RECIPES
from tests.programs.jobs.torch_runs import Outcome, Run, outcomes

RECIPE = RECIPES["pretrain"]
STEPS, SAVE_EVERY, VOCABULARY = 4, 2, 40
DENSE = {"normed-heads": 1, "shared-embedding": 0, "experts": 0, "precision": "float64"}
MIXTURE = {"normed-heads": 0, "shared-embedding": 1, "experts": 4, "precision": "float32"}
UNSHARED = {**MIXTURE, "shared-embedding": 0, "balance": 1.0}
NUMBERS = {
    "device": "cpu",
    "layers": 2,
    "width": 16,
    "heads": 4,
    "kv-heads": 2,
    "head-width": 8,
    "mlp-width": 16,
    "vocabulary": VOCABULARY,
    "rope-base": 10_000,
    "norm-epsilon": 1e-5,
    "active-experts": 2,
    "sequence": 8,
    "batch": 4,
    "micro-batch": 1,
    "activations": "kept",
    "seed": 7,
    "keep": 3,
    "steps": STEPS,
    "save-every": SAVE_EVERY,
    "save-before-end": 300,
    "report-every": 1,
    "learning-rate": 0.03,
    "warmup": 1,
    "balance": 0.01,
    "flops-per-token": 1e6,
    "peak-tflops": 1,
    "data": "data",
}
DIMENSIONS = ("pipeline", "replicate", "shard", "context", "tensor")
KILLED, ORDER, MEMORY = "killed.py", "order.py", "memory.py"

ORDERED = """\
from texts import shuffled

for count in (1, 2, 3, 17, 64, 1000):
    order = [shuffled(number, count, 5) for number in range(count)]
    assert sorted(order) == list(range(count)), count
assert order != list(range(1000)) != [shuffled(number, 1000, 6) for number in range(1000)] != order
print("every number comes once")
"""

MOST_HELD = """\
import resource

import pretrain
from processes import join, run_to_the_end, say


def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure():
    options = pretrain._options()
    device = join("cpu")
    before = held()
    made = pretrain.spread(pretrain._shape(options), options, device)
    whole = sum(each.numel() * 4 for each in made.model.parameters())
    say(f"held {(held() - before) / whole:.2f} of {whole} bytes")


run_to_the_end(measure)
"""
LARGE = {"layers": 8, "width": 512, "head-width": 128, "mlp-width": 2048, "precision": "float32"}


def run(name: str, mesh: str, kind: Mapping[str, object], program: str = "", **more: object) -> Run:
    sizes = dict(zip(DIMENSIONS, mesh.split("x"), strict=True))
    given = {**NUMBERS, **kind, **sizes, "checkpoints": name, **more}
    words = [str(word) for key, value in given.items() for word in (f"--{key}", value)]
    processes = 1
    for size in sizes.values():
        processes *= int(size)
    return Run(name, processes, tuple(words), program=program)


RUNS = (
    run("one", "1x1x1x1x1", DENSE),
    run("cube", "1x1x1x2x2", DENSE, KILLED),
    run("goes-on", "1x1x2x1x1", {**DENSE, "activations": "computed-again"}, checkpoints="cube"),
    run("staged", "2x1x1x2x1", DENSE, KILLED),
    run("unstaged", "1x1x2x1x1", DENSE, checkpoints="staged"),
    run("other-data", "1x1x1x1x1", DENSE, checkpoints="cube", seed=8),
    run("expert-one", "1x1x1x1x1", MIXTURE),
    run("expert-parts", "1x1x2x1x2", MIXTURE),
    run("unshared-one", "1x1x1x1x1", UNSHARED),
    run("unshared-stages", "2x1x2x1x1", UNSHARED),
    run("order", "1x1x1x1x1", DENSE, ORDER),
    run("memory", "1x1x2x1x1", {**DENSE, **LARGE}, MEMORY),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    folder = tmp_path_factory.mktemp("pretraining")
    (folder / "data").mkdir()
    for number, count in enumerate((50, 90)):
        tokens = [(number * 5 + 3 * each + each // 7) % VOCABULARY for each in range(count)]
        (folder / "data" / f"{number}.bin").write_bytes(struct.pack(f"={count}H", *tokens))
    program = RECIPE.programs[RECIPE.program].decode()
    killed = program.replace(
        "        loss, norm = _train",
        "        if training.step == 3:\n"
        "            saving._checkpoints.finish()\n"
        "            __import__('os').kill(__import__('os').getpid(), 9)\n"
        "        loss, norm = _train",
    )
    assert killed != program
    for name, text in ((KILLED, killed), (ORDER, ORDERED), (MEMORY, MOST_HELD)):
        (folder / name).write_text(text)
    done = outcomes(RECIPE, folder, RUNS)
    return {each.name: outcome for each, outcome in zip(RUNS, done, strict=True)}


def test_losses_of_a_mesh_that_is_killed_and_of_another_that_goes_on_are_those_of_one_process(
    found: Mapping[str, Outcome],
) -> None:
    """Parts of sequences and layers, then shards with activations that are computed again."""
    one = found["one"].losses
    assert sorted(one) == list(range(1, STEPS + 1)), found["one"].logs
    assert len({round(loss, 3) for loss in one.values()}) == STEPS
    assert found["cube"].losses == pytest.approx({n: one[n] for n in (1, 2, 3)}, abs=1e-6)
    assert found["cube"].status == 9
    assert f"resuming after step {SAVE_EVERY} with 1x1x2x1x1 processes" in found["goes-on"].log
    rest = {step: loss for step, loss in one.items() if step > SAVE_EVERY}
    assert found["goes-on"].losses == pytest.approx(rest, abs=1e-6)
    assert f"done after step {STEPS}\n" in found["goes-on"].log


def test_stages_hand_their_layers_on_to_a_mesh_without_stages(found: Mapping[str, Outcome]) -> None:
    """Each has four micro batches and half of a sequence: so some pass on while others go back."""
    one = found["one"].losses
    assert found["staged"].losses == pytest.approx({n: one[n] for n in (1, 2, 3)}, abs=1e-6)
    assert found["staged"].status == 9
    assert f"resuming after step {SAVE_EVERY} with 1x1x2x1x1 processes" in found["unstaged"].log
    rest = {step: loss for step, loss in one.items() if step > SAVE_EVERY}
    assert found["unstaged"].losses == pytest.approx(rest, abs=1e-6)


def test_experts_in_parts_and_shards_have_the_losses_of_one_process(
    found: Mapping[str, Outcome],
) -> None:
    one = found["expert-one"].losses
    assert sorted(one) == list(range(1, STEPS + 1)), found["expert-one"].logs
    assert found["expert-parts"].losses == pytest.approx(one, abs=1e-4), found["expert-parts"].logs


def test_experts_in_stages_are_balanced_as_in_one_process(found: Mapping[str, Outcome]) -> None:
    """Every stage adds how unequal its experts were used, and has its part of the gradient."""
    one, staged = (found[f"unshared-{each}"] for each in ("one", "stages"))
    assert sorted(one.losses) == list(range(1, STEPS + 1)), one.logs
    assert staged.losses == pytest.approx(one.losses, abs=1e-4), staged.logs


def test_a_checkpoint_of_data_in_another_order_is_refused(found: Mapping[str, Outcome]) -> None:
    assert found["other-data"].status == 1
    assert "the checkpoint's data were {'sequences': 17," in found["other-data"].log


def test_the_order_of_the_data_has_every_sample_once(found: Mapping[str, Outcome]) -> None:
    assert found["order"].log == "every number comes once\n"


def test_no_process_ever_holds_the_whole_model(found: Mapping[str, Outcome]) -> None:
    """One of two has half of it, one parameter as a whole, and what PyTorch takes for itself."""
    said = re.fullmatch(r"held (\S+) of (\d+) bytes\n", found["memory"].log)
    assert said, found["memory"].logs
    assert int(said[2]) > 100_000_000
    assert float(said[1]) < 0.9


def test_job_metrics_reads_tokens_per_second_and_mfu(found: Mapping[str, Outcome]) -> None:
    """A token takes 10^6 operations, and a process does 10^12 of them in a second."""
    (life,) = lives(found["one"].log.splitlines())
    first, *rest = life.reports
    assert (first.tokens_per_second, first.mfu) == (None, None)
    for each in rest:
        assert each.tokens_per_second
        assert each.mfu is not None
        assert each.mfu == pytest.approx(each.tokens_per_second * 1e-6, abs=1e-4)
