"""SMP v2: each rule of its documentation, accepting and refusing, and what is rendered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.recipes.chosen import chosen_parameters
from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod.jobs.recipes.smp2_llama import SmpConfiguration
from slurmpod.problems import InvalidEnvironment
from tests.pure.jobs.test_recipe_parameters import place_on
from tests.pure.jobs.test_render import job_for, resolved_of, workers_of_type

RECIPE = RECIPES["smp2-llama"]
P4D, P5 = "p4d.24xlarge", "p5.48xlarge"

RULES = (
    # a rule's field, what is taken, what is refused on two nodes (16 GPUs) of P4d, and the message
    ("tensor_parallel_degree", "tensor_parallel_degree: 8", "tensor_parallel_degree: 0", "small"),
    ("tensor_parallel_degree", "tensor_parallel_degree: 16", "tensor_parallel_degree: 3", "divide"),
    ("hybrid_shard_degree", "hybrid_shard_degree: 0", "hybrid_shard_degree: -1", "too small"),
    ("hybrid_shard_degree", "hybrid_shard_degree: 16", "hybrid_shard_degree: 32", "not divide"),
    (
        "hybrid_shard_degree",
        "tensor_parallel_degree: 8\nhybrid_shard_degree: 2",
        "tensor_parallel_degree: 8\nhybrid_shard_degree: 4",
        "4 times the tensor_parallel_degree 8 does not divide",
    ),
    (
        "expert_parallel_degree",
        "model: mixtral-8x7b\nexpert_parallel_degree: 8",
        "model: llama2-7b\nexpert_parallel_degree: 8",
        "llama2-7b has no experts",
    ),
    (
        "expert_parallel_degree",
        "model: mixtral-8x7b\ntensor_parallel_degree: 2",
        "model: mixtral-8x7b\ntensor_parallel_degree: 2\nexpert_parallel_degree: 2",
        "experts cannot be shared beside a tensor_parallel_degree of 2",
    ),
    (
        "expert_parallel_degree",
        "model: mixtral-8x7b\nhybrid_shard_degree: 4\nexpert_parallel_degree: 4",
        "model: mixtral-8x7b\nhybrid_shard_degree: 4\nexpert_parallel_degree: 8",
        "8 times 4 does not divide the 16 processes",
    ),
    (
        "context_parallel_degree",
        "hybrid_shard_degree: 8\ncontext_parallel_degree: 8",
        "hybrid_shard_degree: 4\ncontext_parallel_degree: 8",
        "8 processes are not among the 4 that share the parameters",
    ),
    (
        "context_parallel_degree",
        "context_parallel_degree: 16",
        "tensor_parallel_degree: 2\ncontext_parallel_degree: 16",
        "16 processes are not among the 8",
    ),
    (
        "context_parallel_degree",
        "model: llama2-70b\ncontext_parallel_degree: 2",
        "model: mixtral-8x7b\ncontext_parallel_degree: 2",
        "SMP has no context parallelism for mixtral-8x7b",
    ),
    (
        "sequence_length",
        "context_parallel_degree: 2\nsequence_length: 4096",
        "context_parallel_degree: 2\nsequence_length: 4097",
        "2 processes cannot share 4097 tokens",
    ),
    (
        "sequence_length",
        "context_parallel_degree: 4\nsequence_length: 4104",
        "context_parallel_degree: 4\nsequence_length: 4100",
        "4 processes cannot share 4100 tokens",
    ),
    ("sequence_length", "sequence_length: 4097", "sequence_length: 127", "small"),
    (
        "context_parallel_degree",
        "context_parallel_degree: 4",
        "context_parallel_degree: 3\nsequence_length: 4092",
        "3 times the tensor_parallel_degree 1 does not divide the 16 processes",
    ),
    (
        "activation_checkpointing",
        "sm_activation_offloading: false\nactivation_checkpointing: false",
        "activation_checkpointing: false",
        "only offloaded with activation checkpointing",
    ),
    (
        "activation_loading_horizon",
        "activation_loading_horizon: 4",
        "sm_activation_offloading: false\nactivation_loading_horizon: 4",
        "nothing is fetched ahead without activation offloading",
    ),
    (
        "activation_loading_horizon",
        "activation_loading_horizon: 1",
        "activation_loading_horizon: 0",
        "small",
    ),
    (
        "backend",
        "backend: smddp\ntensor_parallel_degree: 8\nhybrid_shard_degree: 2",
        "backend: smddp\ntensor_parallel_degree: 8\nhybrid_shard_degree: 1",
        "SMDDP is not for tensor parallelism with a hybrid_shard_degree of 1",
    ),
    ("moe_load_balancing", "moe_load_balancing: aux_loss", "moe_load_balancing: fair", "choices"),
    ("cp_comm_type", "cp_comm_type: all_gather", "cp_comm_type: ring", "choices"),
    (
        "fsdp_cache_flush_warnings",
        "fsdp_cache_flush_warnings: false",
        "fsdp_cache_flush_warnings: 1",
        "true nor",
    ),
    ("allow_empty_shards", "allow_empty_shards: true", "allow_empty_shards: 1", "true nor"),
    (
        "random_seed",
        "random_seed: 0",
        "tensor_parallel_seed: 0",
        "unknown key 'tensor_parallel_seed'",
    ),
)


@pytest.mark.parametrize(("field", "taken", "refused", "message"), RULES)
def test_each_rule_accepts_and_refuses(
    field: str, taken: str, refused: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "smp.yaml"
    file.write_text(taken)
    chosen_parameters(RECIPE, place_on(P4D), file)
    file.write_text(refused)
    with pytest.raises(InvalidEnvironment) as caught:
        chosen_parameters(RECIPE, place_on(P4D), file)
    (problem,) = caught.value.problems
    assert message in problem.message
    assert field in f"{problem.where.path} {problem.fix}"
    assert problem.where.line


@pytest.mark.parametrize(
    ("processes", "messages"),
    [
        (32, []),
        (24, ["8 times the tensor_parallel_degree 2 does not divide the 24 processes of the job"]),
    ],
)
def test_groups_that_share_layers_and_samples_divide_the_job(
    processes: int, messages: list[str]
) -> None:
    keys = SmpConfiguration(tensor_parallel_degree=2, context_parallel_degree=8)
    assert [mistake.message for mistake in keys.key_mistakes(processes)] == messages


@pytest.mark.parametrize("name", ["p5en.48xlarge", "p5.4xlarge", "g5.48xlarge"])
def test_other_types_are_refused(name: str) -> None:
    with pytest.raises(JobRefused, match=f"smp2-llama cannot run on ml.{name}") as caught:
        job_for(workers_of_type(name), "smp2-llama")
    for known in ("p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5e.48xlarge"):
        assert f"ml.{known}" in caught.value.fix


def test_smddp_is_for_p4d_and_p4de(tmp_path: Path) -> None:
    file = tmp_path / "smp.json"
    file.write_text('{"backend": "smddp"}')
    for name in (P4D, "p4de.24xlarge"):
        chosen_parameters(RECIPE, place_on(name), file)
    with pytest.raises(InvalidEnvironment) as caught:
        chosen_parameters(RECIPE, place_on(P5), file)
    (problem,) = caught.value.problems
    assert problem.message.startswith("SMDDP does not know ml.p5.48xlarge")
    assert problem.fix == "write nccl"


def test_nodes_have_to_start_containers() -> None:
    with pytest.raises(JobRefused, match="have no enroot") as caught:
        job_for(workers_of_type(P4D), "smp2-llama")
    assert "containers: true" in caught.value.fix


def test_smp_gets_its_own_keys_alone() -> None:
    job = job_for(resolved_of("p5-containers"), "smp2-llama")
    assert json.loads(job.files["smp_config.json"]) == {
        "tensor_parallel_degree": 1,
        "hybrid_shard_degree": 0,
        "sm_activation_offloading": True,
        "activation_loading_horizon": 2,
        "random_seed": 12345,
        "context_parallel_degree": 1,
        "expert_parallel_degree": 1,
        "fsdp_cache_flush_warnings": True,
        "allow_empty_shards": False,
    }
    script = job.files[job.script].decode()
    assert "--config smp_config.json --model llama2-7b --backend nccl" in script
    assert "smdistributed-modelparallel:2.5.1-gpu-py311-cu124" in script
    assert "/var/log/aws/clusters" in job.files["container.sh"].decode()
