"""The plan of a training against published models, runs and tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod.environment.catalog import instance_types
from slurmpod.environment.lustre import Lustre
from slurmpod.jobs.allocation import Allocation
from slurmpod.jobs.planning import compute
from slurmpod.jobs.planning.checkpoints import (
    NODE_MTBF_HOURS,
    bytes_per_second,
    checkpoint_bytes,
    failures,
)
from slurmpod.jobs.planning.memory import (
    USABLE,
    WEIGHT_BYTES,
    Load,
    Mesh,
    activations_of_layer,
    memory_of,
)
from slurmpod.jobs.planning.meshes import fit_of, fits, meshes
from slurmpod.jobs.planning.models import MODELS, Model, count, model_of_size
from slurmpod.jobs.planning.plan import plan_for, room_of
from slurmpod.jobs.planning.speed import LINK_SHARE, Speed, StepTime, speed_of, step_time
from slurmpod.jobs.planning.training_spec import NUMBERS, PlanRefused, spec_of
from slurmpod.resolve.storage import lustre_facts
from tools.published_runs import RUNS, STEPS, Run, Step

GB = 10**9
GIB = 1024**3


def nodes_of(instance_type: str, nodes: int) -> Allocation:
    return Allocation("workers", nodes, "UNLIMITED", instance_types()[instance_type])


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        *(("llama2-7b", 6.74), ("llama2-13b", 13.02), ("llama2-70b", 68.98), ("gpt-j-6b", 6.05)),
        *(("llama3.1-8b", 8.03), ("llama3.1-70b", 70.55), ("llama3.1-405b", 405.85)),
        *(("llama3.2-1b", 1.24), ("llama3.2-3b", 3.21), ("mistral-7b", 7.24)),
        *(("gpt-neox-20b", 20.55), ("gpt3-175b", 174.6)),
        *(("mixtral-8x7b", 46.7), ("mixtral-8x22b", 141), ("deepseek-v3", 671)),
        *(("qwen3-0.6b", 0.596), ("qwen3-1.7b", 1.72), ("qwen3-4b", 4.02), ("qwen3-8b", 8.19)),
        *(("qwen3-14b", 14.8), ("qwen3-32b", 32.8), ("qwen3-30b-a3b", 30.5)),
        ("qwen3-235b-a22b", 235),
    ],
)
def test_models_have_their_published_number_of_parameters(name: str, billions: float) -> None:
    assert MODELS[name].parameters / 1e9 == pytest.approx(billions, rel=0.005)


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        *(("mixtral-8x7b", 12.9), ("mixtral-8x22b", 39), ("deepseek-v3", 37.5)),
        *(("qwen3-30b-a3b", 3.3), ("qwen3-235b-a22b", 22), ("llama2-7b", 6.74)),
    ],
)
def test_a_token_meets_a_part_of_a_mixture_of_experts(name: str, billions: float) -> None:
    assert MODELS[name].active_parameters / 1e9 == pytest.approx(billions, rel=0.02)


@pytest.mark.parametrize(("billions", "layers", "width"), [(6.7, 32, 4096), (175, 96, 12288)])
def test_a_number_of_parameters_has_a_usual_shape(billions: float, layers: int, width: int) -> None:
    model = model_of_size(billions * 1e9)
    assert (model.layers, model.width, model.parameters) == (layers, width, billions * 1e9)


def test_gpt_j_fits_a_gpu_of_16_gb_in_fp16() -> None:
    assert 12 * GB < MODELS["gpt-j-6b"].parameters * WEIGHT_BYTES < 13 * GB


@pytest.mark.parametrize(("shard", "states"), [(1, 120), (64, 1.9)])
def test_states_are_those_of_the_zero_paper(shard: int, states: float) -> None:
    mesh, load = Mesh(64 // shard, shard, 1, 1), Load(1, 1, 1, is_checkpointed=True)
    memory = memory_of(model_of_size(7.5e9), mesh, load)
    assert memory.weights + memory.gradients + memory.optimizer == pytest.approx(
        states * GB, rel=0.02
    )


def test_activations_are_those_of_the_published_formula() -> None:
    model = MODELS["gpt3-175b"]
    load = Load(sequence=2048, micro=1, accumulation=64, is_checkpointed=False)
    plain = memory_of(model, Mesh(1, 1, 8, 8), load).activations
    in_flight = 8 + 7 / 4
    assert plain == 2048 * 12288 * (10 + 24 / 8) * (96 / 8) * in_flight
    again = memory_of(model, Mesh(1, 1, 8, 8), Load(2048, 1, 64, is_checkpointed=True)).activations
    assert again == 2048 * 12288 * (2 * (96 / 8) * in_flight + 10 + 24 / 8)


@pytest.mark.parametrize(
    ("model", "instance_type", "nodes", "sequence", "batch", "mesh", "micro"),
    [
        ("llama2-7b", "ml.p4de.24xlarge", 1, 4096, 32, Mesh(1, 8, 1, 1), 4),
        ("llama2-70b", "ml.p4de.24xlarge", 32, 4096, 512, Mesh(1, 256, 1, 1), 2),
        ("gpt3-175b", "ml.p4de.24xlarge", 64, 2048, 768, Mesh(1, 128, 4, 1), 6),
        ("llama2-7b", "ml.trn1.32xlarge", 4, 4096, 256, Mesh(1, 16, 8, 1), 1),
    ],
)
def test_meshes_of_published_examples_fit(
    model: str, instance_type: str, nodes: int, sequence: int, batch: int, mesh: Mesh, micro: int
) -> None:
    room = room_of(nodes_of(instance_type, nodes))
    found = {fit.mesh: fit for fit in fits(MODELS[model], room, sequence, batch)}
    assert mesh in found
    assert found[mesh].load.micro >= micro


def model_of(layers: int, width: int, vocabulary: int) -> Model:
    heads = width // 128
    return Model("trained", layers, width, heads, heads, 4 * width, vocabulary, mlp_matrices=2)


DEEP, WIDE, WORDY = (
    model_of(24, 2048, 32_000),
    model_of(12, 4096, 32_000),
    model_of(4, 2048, 128_256),
)


@pytest.mark.parametrize(
    ("model", "load", "allocated", "in_use"),
    [
        (DEEP, Load(2048, 4, 1, is_checkpointed=False), 30.31, 36.91),
        (DEEP, Load(2048, 8, 1, is_checkpointed=False), 45.29, 52.51),
        (DEEP, Load(2048, 8, 1, is_checkpointed=True), 22.76, 30.69),
        (DEEP, Load(2048, 32, 1, is_checkpointed=True), 45.02, 56.16),
        (WIDE, Load(4096, 2, 1, is_checkpointed=False), 45.71, 58.77),
        (WIDE, Load(4096, 2, 1, is_checkpointed=True), 41.77, 48.32),
        (WORDY, Load(4096, 2, 1, is_checkpointed=False), 23.05, 27.23),
    ],
)
def test_memory_is_what_a_gpu_had_in_use(
    model: Model, load: Load, allocated: float, in_use: float
) -> None:
    """GiB of `fsdp2-hybrid` on an H200 with PyTorch 2.11; gradients came while activations went."""
    total = memory_of(model, Mesh(1, 1, 1, 1), load).total
    assert 0.79 < allocated * GIB / total < 0.95
    assert 0.91 < in_use * GIB / (total / USABLE) < 1


def test_shards_hold_two_whole_layers() -> None:
    model, load = MODELS["llama2-70b"], Load(4096, 1, 1, is_checkpointed=True)
    assert memory_of(model, Mesh(8, 1, 1, 1), load).gathered == 0
    sharded = memory_of(model, Mesh(1, 8, 2, 1), load).gathered
    assert sharded == 2 * 2 * model.parameters_of_layer() / 2


def test_parts_of_a_layer_share_its_heads() -> None:
    room = room_of(nodes_of("ml.p5.48xlarge", 1))
    heads_of_6 = replace(MODELS["llama2-7b"], heads=24, kv_heads=6)
    assert {mesh.tensor for mesh in meshes(heads_of_6, room, 4096)} == {1, 2}


def test_every_fit_uses_all_accelerators_and_the_whole_batch_within_the_memory() -> None:
    model, room = MODELS["llama2-70b"], room_of(nodes_of("ml.p5.48xlarge", 4))
    found = fits(model, room, 4096, 256)
    assert found
    for fit in found:
        mesh, load = fit.mesh, fit.load
        assert mesh.replicate * mesh.shard * mesh.tensor * mesh.pipeline == 32
        assert load.micro * load.accumulation * mesh.data_parallel == 256
        assert model.heads % mesh.tensor == 0
        assert fit.memory.total <= room.usable < room.memory
        assert load.accumulation >= mesh.pipeline
        assert (fit.idle == 0) == (mesh.pipeline == 1)


def test_stages_need_not_have_equally_many_layers() -> None:
    model, room = MODELS["llama3.1-405b"], room_of(nodes_of("ml.p5.48xlarge", 64))
    found = list(meshes(model, room, 8192))
    assert {8, 16} < {mesh.pipeline for mesh in found}
    assert Mesh(1, 4, 8, 16).layers_of_stage(model) == 8
    memory = memory_of(model, Mesh(1, 4, 8, 16), Load(8192, 1, 32, is_checkpointed=True))
    assert memory.weights == pytest.approx(2 * model.parameters * 8 / 126 / 4 / 8)
    of_ten = replace(model, layers=10)
    assert {mesh.pipeline for mesh in meshes(of_ten, room, 8192)} == {1, 2, 4}


def test_long_sequences_are_divided() -> None:
    model, room = MODELS["llama3.1-8b"], room_of(nodes_of("ml.p5.48xlarge", 1))
    assert {mesh.context for mesh in meshes(model, room, 8192)} == {1}
    assert {mesh.context for mesh in meshes(model, room, 65536)} == {1, 2, 4, 8}
    load = Load(65536, 1, 1, is_checkpointed=True)
    whole, parts = (memory_of(model, mesh, load) for mesh in (_mesh(8, 1), _mesh(2, 4)))
    assert parts.activations == pytest.approx(whole.activations / 4)
    assert parts.weights == whole.weights


def _mesh(shard: int, context: int) -> Mesh:
    return Mesh(1, shard, 1, 1, context)


def test_experts_lie_among_the_shards_and_are_not_gathered() -> None:
    model, room = MODELS["mixtral-8x7b"], room_of(nodes_of("ml.p5.48xlarge", 4))
    assert {mesh.experts for mesh in meshes(model, room, 4096) if mesh.shard == 32} == {8}
    load = Load(4096, 1, 1, is_checkpointed=True)
    together, apart = (memory_of(model, Mesh(1, 8, 1, 1, 1, parts), load) for parts in (1, 8))
    assert together.gathered > 6 * apart.gathered
    assert together.weights == apart.weights


@pytest.mark.parametrize("parts", [1, 32])
def test_an_expert_that_sees_every_token_is_held_whole(parts: int) -> None:
    model = MODELS["deepseek-v3"]
    assert model.experts
    one_more = replace(model, experts=replace(model.experts, shared=model.experts.shared + 1))
    more = one_more.parameters_of_layer(parts) - model.parameters_of_layer(parts)
    assert more == 3 * 7168 * 2048  # gate, up and down of its configuration file


def test_a_wider_mlp_keeps_more_for_its_backward_pass() -> None:
    usual = MODELS["gpt3-175b"]
    twice = replace(usual, mlp_width=2 * usual.mlp_width)
    kept, more = (activations_of_layer(each, _mesh(1, 1), 2048, 1) for each in (usual, twice))
    assert (more - kept) / (2048 * 12288) == 16


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.model.name}-{step.gpus}")
def test_the_speed_of_published_steps_is_a_quarter_off_at_most(step: Step) -> None:
    assert step.estimated == pytest.approx(step.published, rel=0.25)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.model)
def test_whole_runs_take_what_the_plan_says_of_them(run: Run) -> None:
    """The plan tells users that whole runs took 0.5 to 3 times its hours."""
    assert 0.5 < run.hours / run.estimated < 3


def _time(mesh: Mesh, load: Load, instance_type: str = "ml.p5.48xlarge") -> StepTime:
    model, nodes = MODELS["llama2-70b"], 32
    speed = speed_of(nodes_of(instance_type, nodes))
    assert speed is not None
    return step_time(model, fit_of(model, mesh, load), speed)


def test_a_step_takes_longer_where_it_computes_again_waits_or_exchanges_more() -> None:
    plain = _time(Mesh(1, 256, 1, 1), Load(4096, 1, 4, is_checkpointed=False))
    assert (plain.exchange, plain.waiting) == (0, 0)
    again = _time(Mesh(1, 256, 1, 1), Load(4096, 1, 4, is_checkpointed=True))
    assert again.total == pytest.approx(plain.total * 4 / 3)
    in_parts = _time(Mesh(1, 32, 8, 1), Load(4096, 1, 32, is_checkpointed=False))
    assert in_parts.exchange > 0.1 * in_parts.computing
    in_stages = _time(Mesh(1, 32, 1, 8), Load(4096, 1, 32, is_checkpointed=False))
    assert in_stages.waiting == pytest.approx(in_stages.computing * 7 / 4 / 32)
    slow = _time(Mesh(1, 256, 1, 1), Load(4096, 1, 4, is_checkpointed=False), "ml.p4de.24xlarge")
    assert slow.exchange > 0
    both = _time(Mesh(1, 4, 8, 8), Load(4096, 1, 32, is_checkpointed=False))
    assert both.exchange > 0
    assert both.waiting == pytest.approx((both.computing + both.exchange) * 7 / 4 / 32)


GB_PER_SECOND = Speed(peak=1e30, efficiency=1, inside=GB / LINK_SHARE, beyond=GB, of_node=8)
"""An accelerator that computes in no time, so that all exchange is seen."""


def _exchange(model: Model, mesh: Mesh, load: Load) -> float:
    return step_time(model, fit_of(model, mesh, load), GB_PER_SECOND).exchange


def test_keys_and_values_of_a_part_go_around_the_others_three_times() -> None:
    model, load = MODELS["llama3.1-8b"], Load(65_536, 1, 1, is_checkpointed=False)
    layers, others, keys_and_values = 32, 3, 16_384 * 2 * 8 * 128 * WEIGHT_BYTES
    more = _exchange(model, _mesh(1, 4), load) - _exchange(model, _mesh(4, 1), load)
    assert more == pytest.approx(3 * others * layers * keys_and_values / GB)


def test_tokens_travel_to_their_experts_again_where_they_are_computed_again() -> None:
    model, mesh = MODELS["mixtral-8x7b"], Mesh(1, 8, 1, 1, 1, 8)
    once, again = (
        _exchange(model, mesh, Load(4096, 1, 1, is_checkpointed=each)) for each in (False, True)
    )
    layers, experts, sent = 32, 2, 4096 * 4096 * WEIGHT_BYTES * 7 / 8
    assert again - once == pytest.approx(4 / 3 * layers * experts * sent / GB)


def test_a_network_of_unknown_speed_leaves_the_mesh_out() -> None:
    unknown = replace(instance_types()["ml.p5.48xlarge"], network_gigabits=0)
    assert speed_of(Allocation("workers", 2, "UNLIMITED", unknown)) is None
    assert speed_of(Allocation("workers", 1, "UNLIMITED", unknown)) is not None


@pytest.mark.parametrize("instance_type", ["ml.trn1.32xlarge", "ml.g5.48xlarge"])
def test_where_the_mesh_is_not_considered_all_are_as_fast(instance_type: str) -> None:
    spec = spec_of({**TYPED, "model": "llama3.2-1b", "global-batch": "512"})
    plan = plan_for(spec, nodes_of(instance_type, 2), None)
    assert {each.utilization for each in plan.fits} == {compute.UTILIZATION}


def test_what_the_user_has_seen_counts_more_than_the_mesh() -> None:
    seen = {**TYPED, "utilization": "0.25"}
    plan = plan_for(spec_of(seen), nodes_of("ml.p5.48xlarge", 4), None)
    assert {each.utilization for each in plan.fits} == {0.25}
    best = plan_for(spec_of(TYPED), nodes_of("ml.p5.48xlarge", 4), None)
    assert best.hours is not None
    assert plan.hours is not None
    assert best.hours < plan.hours
    shares = [each.utilization or 0 for each in best.fits]
    assert shares[0] > 0.95 * max(shares)


def test_hours_of_an_accelerator_without_a_number_are_unknown() -> None:
    assert compute.accelerator_hours(MODELS["llama2-7b"], 1e9, 4096, "Abacus", 0.4) is None


@pytest.mark.parametrize(("batch", "rate"), [(40, 6.25e-5), (80, 1.25e-4), (160, 2.5e-4)])
def test_learning_rates_grow_with_the_batch(batch: int, rate: float) -> None:
    assert compute.scaled_rate(5e-5, 32, batch) == pytest.approx(rate)


def test_learning_rates_for_adam_grow_with_the_root_of_the_batch() -> None:
    assert compute.root_scaled_rate(1e-4, 256, 1024) == pytest.approx(2e-4)


@pytest.mark.parametrize(
    ("run", "nodes", "job_hours", "minutes", "efficiency"),
    [
        *(("Llama 3 405B", 4, 1584, 436, 0.995), ("OPT-175B", 4, 432, 228, 0.990)),
        *(("Llama 3 405B", 64, 99, 109, 0.977), ("OPT-175B", 64, 27, 57, 0.949)),
        *(("Llama 3 405B", 256, 24.7, 54.5, 0.947), ("OPT-175B", 256, 6.8, 28.5, 0.868)),
    ],
)
def test_intervals_and_losses(
    run: str, nodes: int, job_hours: float, minutes: float, efficiency: float
) -> None:
    found = failures(NODE_MTBF_HOURS[run], nodes, seconds=60)
    assert found.job_mtbf_hours == pytest.approx(job_hours, rel=0.01)
    assert found.interval_minutes == pytest.approx(minutes, rel=0.01)
    assert found.daly_minutes == pytest.approx(minutes - 1, rel=0.01)
    assert found.efficiency == pytest.approx(efficiency, abs=0.001)


def test_a_training_that_fails_faster_than_it_saves_never_ends() -> None:
    assert failures(1, 100, seconds=600).efficiency == 0


@pytest.mark.parametrize(
    ("settings", "nodes", "rate"),
    [
        ({"capacity_gib": 9600, "throughput_mbps_per_tib": 500}, 16, 4.6875e9),
        ({"capacity_gib": 96_000, "throughput_mbps_per_tib": 1000}, 2, 25e9),
        ({"capacity_gib": 2400, "deployment_type": "SCRATCH_2"}, 4, 468.75e6),
        ({"existing": {"id": "fs-0123456789abcdef0", "mount_name": "abc"}}, 4, None),
    ],
)
def test_what_a_file_system_takes(
    settings: dict[str, object], nodes: int, rate: float | None
) -> None:
    facts = lustre_facts(Lustre.model_validate(settings))
    assert bytes_per_second(facts, nodes) == rate


def test_a_checkpoint_holds_weights_and_moments() -> None:
    assert checkpoint_bytes(MODELS["llama2-7b"]) == pytest.approx(80.9 * GB, rel=0.001)


TYPED = {"model": "llama2-7b", "sequence": "4096", "global-batch": "1024"}


def test_a_plan_has_all_of_it() -> None:
    spec = spec_of({**TYPED, "tokens": "2T", "node-mtbf-hours": "5000"})
    facts = lustre_facts(Lustre(capacity_gib=9600))
    plan = plan_for(spec, nodes_of("ml.p4de.24xlarge", 16), facts)
    assert (spec.steps, spec.tokens) == (476_838, 476_838 * 4096 * 1024)
    assert plan.hours is not None
    assert 1.3 < 184_320 / (plan.hours * 128) < 1.6
    assert plan.checkpoints.held == 127
    (loss,) = plan.checkpoints.failures.values()
    hours = plan.wall_hours(loss)
    assert hours is not None
    assert plan.hours < hours < 1.05 * plan.hours


def test_a_plan_says_nothing_of_the_end_of_what_never_ends_or_has_no_known_speed() -> None:
    plan = plan_for(spec_of(TYPED), nodes_of("ml.p5.48xlarge", 2), None)
    assert plan.wall_hours(failures(1, 100, seconds=600)) is None
    assert replace(plan, hours=None).wall_hours(failures(1000, 2, seconds=1)) is None


def test_without_a_length_it_is_twenty_tokens_for_each_parameter() -> None:
    spec = spec_of({**TYPED, "model": "7B"})
    assert spec.is_usual_length
    assert spec.tokens == pytest.approx(140e9, rel=0.001)
    assert spec_of({**TYPED, "steps": "100"}).tokens == 100 * 4096 * 1024


def test_without_a_file_system_checkpoints_have_no_time() -> None:
    checkpoints = plan_for(spec_of(TYPED), nodes_of("ml.p5.48xlarge", 2), None).checkpoints
    assert (checkpoints.seconds, checkpoints.held, checkpoints.failures) == (None, None, {})


def test_what_does_not_fit_says_what_comes_nearest() -> None:
    spec = spec_of({**TYPED, "model": "llama3.1-405b"})
    plan = plan_for(spec, nodes_of("ml.p5.48xlarge", 1), None)
    assert plan.fits == ()
    assert plan.least is not None
    assert plan.least.memory.total > 8 * plan.room.memory


def test_all_mistakes_are_told_at_once() -> None:
    typed = dict.fromkeys(NUMBERS, "-1") | {"model": "llama2-7"}
    with pytest.raises(PlanRefused) as refused:
        spec_of(typed)
    told = "\n".join(refused.value.mistakes)
    assert all(f"--{name} is '-1': give a " in told for name in NUMBERS)
    assert "did you mean 'llama2-7b'" in told
    with pytest.raises(PlanRefused) as refused:
        spec_of({"tokens": "1T", "steps": "5", "learning-rate": "1e-4"})
    assert [mistake.partition(" ")[0] for mistake in refused.value.mistakes] == [
        *("--model", "--sequence", "--global-batch", "--tokens", "--learning-rate")
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("7B", 7e9), ("1.4T", 1.4e12), ("350m", 350e6), ("2_000", 2000), ("4096", 4096)),
        *(("", None), ("B", None), ("7G", None), ("1e9", None), ("٣", None), ("9" * 30, None)),
    ],
)
def test_counts(text: str, number: float | None) -> None:
    assert count(text) == number
