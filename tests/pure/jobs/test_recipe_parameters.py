"""What a user chooses of a recipe: mistakes with their lines, and what programs are given."""

from __future__ import annotations

import ast
import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.jobs.allocation import JobRefused, allocation_for
from slurmpod.jobs.recipes.chosen import chosen_parameters
from slurmpod.jobs.recipes.recipe import Place
from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod.problems import ExitCode, InvalidEnvironment
from tests.pure.jobs.test_render import workers_of_type
from tests.sound_environment import SOUND

INSTALLED = {"accelerate", "datasets", "smdistributed", "torch", "transformers"}
"""Packages that the Python of a job has to have."""


def place_for(name: str) -> Place:
    """Return a place where a recipe runs."""
    types = RECIPES[name].instance_types
    return place_on(types[0].removeprefix("ml.")) if types else place_on()


def place_on(instance_type: str = "p5.48xlarge", nodes: int = 2) -> Place:
    resolved = workers_of_type(instance_type)
    return Place(resolved, allocation_for(resolved, group=None, partition=None, nodes=nodes))


MISTAKES = (
    ("ddp", "steps: 0", "0 is too small", "write a whole number from 1 to 1000000"),
    ("ddp", "step: 5", "unknown key 'step'", "did you mean 'steps'?"),
    ("ddp", "learning_rate: fast", "'fast' is not a number", "write a number from 0 to 10"),
    ("ddp", "tolerance: 1.5", "'1.5' is too large", "write a number from 0 to 1"),
    ("check-nodes", "free_gib_on_root: many", "'many' is not a whole number", "write a whole"),
    ("check-nodes", "- 5", "a list is not a mapping (key: value)", "write"),
    ("io-bench", "folders: []", "nothing is to be measured", "name at least one folder"),
    ("io-bench", "folders: [fsx]", "'fsx' does not have the right form", "write text"),
    ("io-bench", "block_kib: []", "has too few entries", "write a list"),
    (
        "io-bench",
        "mib_per_file: 1\nblock_kib: [4, 2048]",
        "a block of 2048 KiB is larger than a file",
        "write at most 1024",
    ),
    (
        "gpt2-compile",
        "width: 768\nheads: 5",
        "a width of 768 cannot be shared by 5 heads",
        "choose a number that divides the width",
    ),
    ("gpt2-compile", "backend: eager", "'eager' is not one of the choices", "inductor, aot_eager"),
    ("sharded-array", "prefix: data", "does not have the right form", "s3://my-bucket/raw/"),
    (
        "sharded-array",
        "prefix: /home/me",
        "/home/me is on no file system that all nodes share",
        "name a folder below one of them: /fsx",
    ),
    ("sharded-array", "tasks: 1001", "1001 is too large", "write a whole number from 1 to 1000"),
    ("sweep", "goal: best", "'best' is not one of the choices", "minimize, maximize"),
    ("sweep", "values: {}", "has too few entries", "write a mapping"),
    ("sweep", "values:\n  width: []", "has too few entries", "write a list"),
    (
        "sweep",
        "values: {width: [1, 2]}\ntrials: 3",
        "there are no more than 2 combinations of the values",
        "write at most 2",
    ),
    (
        "trn1-llama2-7b",
        "steps: 100",
        "Llama 2 may be used only by who has accepted Meta's licence",
        "and write accept_llama2_license: true",
    ),
    (
        "trn1-llama2-7b",
        "accept_llama2_license: true\nglobal_batch: 100",
        "100 samples cannot be shared by 8 replicas",
        "write a multiple of 8, which is replicas x micro_batch",
    ),
    (
        "trn1-llama2-7b",
        "accept_llama2_license: true\ntexts: /home/me/*.jsonl",
        "/home/me/*.jsonl is on no file system that all nodes share",
        "name files below one of them: /fsx",
    ),
    (
        "trn1-llama2-7b",
        "accept_llama2_license: true\ntensor_parallel_degree: 16",
        "16 is not one of the choices",
        "write one of 8, 32",
    ),
    (
        "trn1-llama2-7b",
        "accept_llama2_license: true\ntoken_secret: hf_abc def",
        "does not have the right form",
        "huggingface-token",
    ),
    ("own-program", "pythonpath: ['a:b']", "does not have the right form", "src"),
    ("own-program", "steps: 5", "unknown key 'steps'", "allowed here: pythonpath"),
    (
        "fsdp2-hybrid",
        "tensor_parallel_seed: 0",
        "unknown key 'tensor_parallel_seed'",
        "it was renamed: write random_seed",
    ),
    (
        "fsdp2-hybrid",
        "context_parallel_degree: 2",
        "context_parallel_degree: with it SMP shares each sample among processes",
        "leave it out, as 1 means the same; sm_activation_offloading",
    ),
    (
        "fsdp2-hybrid",
        "expert_parallel_degree: 2",
        "expert_parallel_degree: with it SMP shares the experts of a layer",
        "smp2-llama has the key, for mixtral-8x7b",
    ),
    (
        "fsdp2-hybrid",
        "tensor_parallel_degre: 2",
        "unknown key 'tensor_parallel_degre'",
        "did you mean 'tensor_parallel_degree'?",
    ),
    (
        "fsdp2-hybrid",
        "tensor_parallel_degree: 3",
        "16 processes cannot be grouped by 3",
        "choose one of 1, 2, 4, 8, 16",
    ),
    (
        "fsdp2-hybrid",
        "tensor_parallel_degree: 16",
        "8 heads cannot be shared by 16 processes",
        "choose one of 1, 2, 4, 8, or another number of heads",
    ),
    (
        "fsdp2-hybrid",
        "tensor_parallel_degree: 8\nhybrid_shard_degree: 16",
        "16 processes with 8 for each layer: 2 processes cannot be grouped by 16",
        "choose 0 or one of 1, 2",
    ),
    ("fsdp2-hybrid", "batch: 20", "20 samples cannot be shared by 16", "a multiple of 16"),
    (
        "fsdp2-hybrid",
        "activation_checkpointing: false\nsm_activation_offloading: true",
        "only what activation_checkpointing keeps is offloaded",
        "set activation_checkpointing: true",
    ),
    (
        "fsdp2-hybrid",
        "activation_loading_horizon: 4",
        "nothing is loaded, as nothing is offloaded",
        "set sm_activation_offloading: true, or remove it",
    ),
    ("pretrain", "model: gpt3-175b", "is not one of the choices", "write one of llama2-7b"),
    ("pretrain", "data: ../tokens", "does not have the right form", "/fsx/tokens"),
    (
        "pretrain",
        "model: qwen3-30b-a3b\nprecision: float64",
        "experts are not computed with 64 bits",
        "choose bfloat16 or float32",
    ),
    (
        "pretrain",
        "model: mixtral-8x7b\ncontext: 2",
        "how unequal experts are used is not known of parts of a sequence",
        "set context: 1",
    ),
    ("pretrain", "tensor: 16", "8 heads of keys cannot be shared by 16", "a divisor of 8"),
    (
        "pretrain",
        "context: 8\nsequence: 2052",
        "2052 tokens cannot be cut into 16 pieces",
        "choose a multiple of 16",
    ),
    ("pretrain", "replicate: 3\nshard: 4", "are no mesh of 1 x 3 x 4 x 1 x 1", "set shard: 0"),
    (
        "pretrain",
        "model: llama2-7b\npipeline: 64",
        "llama2-7b has 32 layers, and so no 64 stages",
        "choose 32 at most",
    ),
    ("pretrain", "pipeline: 2", "one embedding at both ends, and so no 2 stages", "choose 1"),
    (
        "pretrain",
        "model: llama3.1-8b\npipeline: 4\nmicro_batch: 2\nbatch: 8",
        "8 samples are too few for 4 stages",
        "choose 32 or more",
    ),
    ("pretrain", "batch: 20", "readers that take 16 samples at once", "a multiple of 16"),
    ("fsdp2-hybrid", "activation_loading_horizon: 0", "0 is too small", "from 1 to 1000"),
    ("fsdp2-hybrid", "random_seed: true", "true is not a whole number", "write a whole number"),
    (
        "bert-pipeline",
        "microbatches: 12\npartitions: 3",
        "16 GPUs cannot be pipelines of 3",
        "choose a number that divides 16",
    ),
    (
        "bert-pipeline",
        "batch: 50",
        "a batch of 50 samples has no 12 equal parts",
        "choose a multiple of 12",
    ),
    (
        "bert-pipeline",
        "batch: 35\npartitions: 4\nmicrobatches: 35",
        "35 microbatches cannot be interleaved over 4 partitions",
        "choose a multiple of 4",
    ),
    ("bert-pipeline", "layers: 3", "3 layers are too few for 4 stages", "choose 4 or more"),
    ("bert-pipeline", "width: 1000", "cannot be shared by 16 heads", "divides the width"),
    ("bert-pipeline", "partitions: 1", "1 is too small", "write a whole number from 2 to 1024"),
    ("fsdp2-hybrid", "width: 250", "cannot be shared by 8 heads", "that divides the width"),
    (
        "collectives-bench",
        "operations: [all-reduce, broadcast]",
        "'broadcast' is not one of the choices",
        "write one of all-reduce, all-gather, reduce-scatter, all-to-all",
    ),
    ("collectives-bench", "operations: []", "nothing is to be measured", "name at least one"),
    (
        "collectives-bench",
        "least_kib: 64\nmost_kib: 32",
        "the largest message, 32 KiB, is below the smallest",
        "write 64 or more",
    ),
)


@pytest.mark.parametrize(("recipe", "text", "message", "fix"), MISTAKES)
def test_mistakes_have_their_line_and_a_way_out(
    recipe: str, text: str, message: str, fix: str, tmp_path: Path
) -> None:
    file = tmp_path / "chosen.yaml"
    file.write_text(f"# what I want\n{text}\n")
    with pytest.raises(InvalidEnvironment) as caught:
        chosen_parameters(RECIPES[recipe], place_for(recipe), file)
    (problem,) = caught.value.problems
    assert problem.where.line == len(text.splitlines()) + 1
    assert message in problem.message
    assert fix in problem.fix


def test_all_mistakes_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dev.yaml").write_text(SOUND)
    (tmp_path / "chosen.yaml").write_text("steps: 0\nwidth: 0\n")
    files = [str(tmp_path / name) for name in ("dev.yaml", "chosen.yaml")]
    command = ["job", "render", files[0], "ddp", "--parameters", files[1]]
    assert run(command) == ExitCode.INVALID
    said = capsys.readouterr().err
    assert f"{files[1]}:1:8: error: steps: 0 is too small" in said
    assert f"{files[1]}:2:8: error: width: 0 is too small" in said


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_a_file_that_chooses_nothing_leaves_the_defaults(text: str, tmp_path: Path) -> None:
    file = tmp_path / "chosen.yaml"
    file.write_text(text)
    recipe, place = RECIPES["ddp"], place_on()
    assert chosen_parameters(recipe, place, file) == chosen_parameters(recipe, place, None)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidEnvironment) as caught:
        chosen_parameters(RECIPES["ddp"], place_on(), tmp_path / "missing.yaml")
    assert "cannot read the file" in caught.value.problems[0].message


@pytest.mark.parametrize("recipe", ["ddp", "collectives-bench"])
def test_one_process_alone_is_refused(recipe: str) -> None:
    with pytest.raises(JobRefused, match="the job has one process"):
        chosen_parameters(RECIPES[recipe], place_on("m5.xlarge", nodes=1), None)


def test_fractions_are_written_as_people_do(tmp_path: Path) -> None:
    file = tmp_path / "chosen.yaml"
    file.write_text("learning_rate: 6e-3\ntolerance: 0\n")
    place = place_on()
    words = chosen_parameters(RECIPES["ddp"], place, file).arguments(place)
    assert words[words.index("--learning-rate") + 1] == "0.006"
    assert words[words.index("--tolerance") + 1] == "0.0"


def points_of(text: str, folder: Path) -> list[dict[str, str | int]]:
    """Return the trials of a sweep with the values that a user wrote."""
    file = folder / "chosen.yaml"
    file.write_text(text)
    place = place_on()
    files = chosen_parameters(RECIPES["sweep"], place, file).files(place)
    points: list[dict[str, str | int]] = json.loads(files["points.json"])
    return points


def test_a_sweep_tries_the_whole_grid(tmp_path: Path) -> None:
    points = points_of("values:\n  rate: [0.1, 1e-2]\n  kind: [a, 3]\n", tmp_path)
    assert points == [{"rate": rate, "kind": kind} for rate in ("0.1", "1e-2") for kind in ("a", 3)]


def test_a_random_sweep_tries_other_points_with_another_seed(tmp_path: Path) -> None:
    values = f"values: {{a: {list(range(50))}, b: {list(range(40))}}}\ntrials: 20\n"
    first, again, other = (points_of(f"{values}seed: {seed}\n", tmp_path) for seed in (1, 1, 2))
    assert first == again != other
    assert len({(point["a"], point["b"]) for point in first}) == 20


def test_what_is_read_is_held_against_what_all_processes_need() -> None:
    place = place_on("p5.48xlarge")
    words = chosen_parameters(RECIPES["io-bench"], place, None).arguments(place)
    assert words[words.index("--needed-mib-per-s") + 1] == str(50 * 16)
    assert words[1] == "/fsx/ubuntu"


@pytest.mark.parametrize(("batch", "rate"), [(10, "6.25e-05"), (20, "0.000125")])
def test_the_learning_rate_follows_the_global_batch(batch: int, rate: str, tmp_path: Path) -> None:
    """AWS's example: 4 GPUs with 10 samples each have 6.25e-5, with 20 samples 1.25e-4."""
    file = tmp_path / "chosen.yaml"
    file.write_text(f"batch_per_process: {batch}\n")
    place = place_on("g4dn.12xlarge", nodes=1)
    words = chosen_parameters(RECIPES["gpt2-compile"], place, file).arguments(place)
    assert words[words.index("--learning-rate") + 1] == rate


def test_gpus_without_bfloat16_compute_with_float16() -> None:
    """PyTorch compiles nothing for a T4 that has bfloat16, and says nothing."""
    found = {}
    for name in ("g4dn.12xlarge", "g5.12xlarge", "c6i.32xlarge"):
        place = place_on(name)
        words = chosen_parameters(RECIPES["gpt2-compile"], place, None).arguments(place)
        found[name] = words[words.index("--half") + 1]
    assert found == {"g4dn.12xlarge": "float16", "g5.12xlarge": "bfloat16", "c6i.32xlarge": "none"}
    with pytest.raises(JobRefused, match="precision: T4 has no bfloat16"):
        chosen_parameters(RECIPES["pretrain"], place_on("g4dn.12xlarge"), None)


def test_only_nodes_with_efa_have_a_bound() -> None:
    recipe = RECIPES["collectives-bench"]
    found = {}
    for name in ("p5.48xlarge", "g5.xlarge", "c6i.32xlarge"):
        place = place_on(name)
        words = chosen_parameters(recipe, place, None).arguments(place)
        found[name] = dict(pairwise(words)).get("--efa-gigabits")
    assert found == {"p5.48xlarge": "3200", "g5.xlarge": None, "c6i.32xlarge": None}


def test_bert_has_the_numbers_of_the_example_of_aws() -> None:
    place = place_on("p4d.24xlarge", nodes=1)
    words = chosen_parameters(RECIPES["bert-pipeline"], place, None).arguments(place)
    given = dict(zip(words[::2], words[1::2], strict=True))
    shown = ("partitions", "microbatches", "batch", "sequence", "warm-up-share", "save-every")
    assert [given[f"--{name}"] for name in shown] == ["2", "12", "48", "128", "0.2843", "200"]


SMP_CONFIG = """\
{
  "tensor_parallel_degree": 4,
  "hybrid_shard_degree": 2,
  "sm_activation_offloading": true,
  "activation_loading_horizon": 3,
  "random_seed": 0
}
"""


@pytest.mark.parametrize(
    ("text", "replicate", "shard", "tensor", "activations"),
    [
        (SMP_CONFIG, "2", "2", "4", "offloaded"),
        ("{}", "1", "16", "1", "computed-again"),
        ("tensor_parallel_degree: 8", "1", "2", "8", "computed-again"),
        ("hybrid_shard_degree: 1", "16", "1", "1", "computed-again"),
        ("activation_checkpointing: false", "1", "16", "1", "kept"),
    ],
)
def test_the_configuration_of_smp_makes_a_mesh(
    text: str, replicate: str, shard: str, tensor: str, activations: str, tmp_path: Path
) -> None:
    file = tmp_path / ("smp_config.json" if text == SMP_CONFIG else "chosen.yaml")
    file.write_text(text)
    place = place_on("p5.48xlarge", nodes=2)
    words = chosen_parameters(RECIPES["fsdp2-hybrid"], place, file).arguments(place)
    given = dict(zip(words[::2], words[1::2], strict=True))
    mesh = (given["--replicate"], given["--shard"], given["--tensor"])
    assert (*mesh, given["--activations"]) == (replicate, shard, tensor, activations)
    smp = (given["--loading-horizon"], given["--seed"])
    assert smp == (("3", "0") if text == SMP_CONFIG else ("2", "12345"))


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.program])
def test_programs_take_what_they_are_given(name: str) -> None:
    recipe, place = RECIPES[name], place_for(name)
    given = {word for word in recipe.parameters().arguments(place) if word.startswith("--")}
    read_by = (recipe.program, recipe.together, "saving.py")
    program = b"".join(recipe.programs.get(each, b"") for each in read_by).decode()
    assert given <= set(re.findall(r'add_argument\(\s*"(--[a-z-]+)"', program))


@pytest.mark.parametrize("name", RECIPES)
def test_a_rendered_folder_has_all_that_its_programs_import(name: str) -> None:
    recipe, place = RECIPES[name], place_for(name)
    files = {*recipe.programs, *recipe.parameters().files(place)}
    own = {Path(file).parts[0].removesuffix(".py") for file in files}
    imported = {
        module
        for program, content in recipe.programs.items()
        if program.endswith(".py")
        for node in ast.walk(ast.parse(content))
        for module in _modules(node)
    }
    assert imported - INSTALLED - set(sys.stdlib_module_names) <= own
    assert {Path(name).stem for name in recipe.shared} <= imported


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").partition(".")[0]]
    if isinstance(node, ast.Import):
        return [each.name.partition(".")[0] for each in node.names]
    return []
