"""`job plan --write`: the file is what the recipe `pretrain` is rendered with."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from slurmpod.cli.main import run
from slurmpod.jobs.planning.models import MODELS
from slurmpod.jobs.recipes.pretrain import TRAINABLE
from slurmpod.problems import ExitCode
from tests.golden_files import ROOT

ENVIRONMENT = str(ROOT / "environments" / "p5-prod.yaml")
SIZES = ("--sequence", "8192", "--global-batch", "1024")


def written(model: str, file: Path, *more: str) -> int:
    sizes = more or SIZES
    return run(["job", "plan", ENVIRONMENT, "--model", model, *sizes, "--write", str(file)])


@pytest.mark.parametrize("model", ["llama3.1-70b", "qwen3-30b-a3b"])
def test_a_written_plan_is_rendered_and_has_nothing_to_lint(tmp_path: Path, model: str) -> None:
    file, out = tmp_path / "plan.yaml", tmp_path / "out"
    assert written(model, file) == ExitCode.OK
    chosen = yaml.safe_load(file.read_text())
    assert chosen["replicate"] * chosen["shard"] * chosen["context"] * chosen["tensor"] == 512
    assert chosen["save_every"] > 0
    render = ["job", "render", ENVIRONMENT, "pretrain", "--parameters", str(file)]
    assert run([*render, "--out", str(out)]) == ExitCode.OK
    script = out / "pretrain.sbatch"
    assert f"--micro-batch {chosen['micro_batch']} " in script.read_text().replace("\\\n   ", "")
    assert run(["job", "lint", "--env", ENVIRONMENT, str(script)]) == ExitCode.OK


@pytest.mark.parametrize(
    ("model", "sizes", "says"),
    [
        ("gpt3-175b", SIZES, "pretrain does not train gpt3-175b"),
        (
            "qwen3-235b-a22b",
            ("--sequence", "131072", "--global-batch", "512"),
            "no mesh without a pipeline fits",
        ),
    ],
)
def test_a_plan_that_the_recipe_cannot_carry_out_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    model: str,
    sizes: tuple[str, ...],
    says: str,
) -> None:
    file = tmp_path / "plan.yaml"
    assert written(model, file, *sizes) == ExitCode.FAILED
    assert says in capsys.readouterr().err
    assert not file.exists()


def test_trainium_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainium = str(ROOT / "environments" / "trn1-llama2.yaml")
    plan = ["job", "plan", trainium, "--model", "llama2-7b", "--sequence", "4096"]
    file = tmp_path / "plan.yaml"
    assert run([*plan, "--global-batch", "256", "--write", str(file)]) == ExitCode.FAILED
    assert "pretrain does not run on ml.trn1" in capsys.readouterr().err
    assert not file.exists()


def test_models_of_the_table_that_are_built_otherwise_are_not_trained() -> None:
    other = {"deepseek-v3", "gpt-j-6b", "gpt-neox-20b", "gpt3-175b"}
    assert set(MODELS) - set(TRAINABLE) == other
