"""Rules about instance groups, beyond their cases."""

from __future__ import annotations

import pytest

from slurmpod.problems import Problem, Severity
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from tests.cluster_environments import EXTENDED, MULTI_HEAD
from tests.sound_environment import SOUND, sound_with


def problems(text: str, *areas: str) -> list[Problem]:
    return [each for each in check(read_as("e.yaml", text)) if each.rule.startswith(areas)]


def test_several_controllers_are_at_least_two() -> None:
    (problem,) = problems(MULTI_HEAD.replace(", count: 2}", "}", 1), "CLU")
    assert (problem.rule, problem.fix) == ("CLU-002", "write 2 or more, or remove slurm.multi_head")
    assert problems(MULTI_HEAD, "CLU") == []


@pytest.mark.parametrize(
    ("name", "rule", "severity", "guess"),
    [
        ("ml.m5.xlrage", "CLU-006", Severity.ERROR, "did you mean 'ml.m5.xlarge'?"),
        ("ml.p5.84xlarge", "CLU-006", Severity.ERROR, "did you mean 'ml.p5.4xlarge'?"),
        ("ml.m55.xlarge", "CLU-012", Severity.WARNING, "did you mean 'ml.m5.xlarge'?"),
        ("ml.p9.48xlarge", "CLU-012", Severity.WARNING, "suppress"),
    ],
)
def test_a_mistyped_type_is_an_error_and_a_newer_one_a_warning(
    name: str, rule: str, severity: Severity, guess: str
) -> None:
    (problem,) = problems(sound_with("ml.m5.xlarge", name), "")
    assert (problem.rule, problem.severity) == (rule, severity)
    assert guess in problem.fix


def test_a_newer_type_can_be_accepted() -> None:
    accepted = "suppress:\n  - {rule: CLU-012, reason: announced by AWS last week}\n"
    assert problems(sound_with("ml.m5.xlarge", "ml.p9.48xlarge") + accepted, "") == []


@pytest.mark.parametrize(
    ("controller", "most", "told"),
    [
        ("ml.t3.medium", 32, "ml.t3.medium: 2 burstable CPUs, 4 GiB"),
        ("ml.c5.large", 85, "ml.c5.large: 2 CPUs, 4 GiB"),
        ("ml.m5.large", 185, "ml.m5.large: 2 CPUs, 8 GiB"),
    ],
)
def test_controllers_are_large_enough_for_so_many_nodes(
    controller: str, most: int, told: str
) -> None:
    text = SOUND.replace("ml.m5.large", controller, 1)
    assert problems(text.replace("count: 2", f"count: {most}"), "CLU-015") == []
    (problem,) = problems(text.replace("count: 2", f"count: {most + 1}"), "CLU-015")
    assert problem.message.endswith(f"slurmdbd and MariaDB for {most + 1} nodes run on {told}")


def test_types_of_lists_are_judged_one_by_one() -> None:
    text = EXTENDED.replace("[ml.g5.12xlarge, ml.g5.24xlarge]", "[ml.g5.12xlarge, ml.g5.24xlrge]")
    (problem,) = problems(text, "CLU")
    assert (problem.rule, problem.where.path) == (
        "CLU-006",
        "cluster.groups[3].instance_types[1]",
    )


def test_threads_must_suit_all_types_of_a_list() -> None:
    text = EXTENDED.replace(
        "instance_types: [ml.g5.12xlarge, ml.g5.24xlarge]",
        "instance_types: [ml.m5.xlarge, ml.m7g.xlarge]\n      threads_per_core: 2",
    )
    (problem,) = problems(text, "CLU")
    assert problem.message == "ml.m7g.xlarge cannot run 2 threads per core"


def test_the_cluster_that_uses_everything_has_no_errors() -> None:
    assert {each.severity for each in problems(EXTENDED, "")} == {Severity.WARNING}


@pytest.mark.parametrize("count", [0, 1])
def test_batches_of_groups_with_no_or_one_node_are_no_question(count: int) -> None:
    rollout = "auto_patch: {strategy: WhenIdle, rollout: {batch_count: 1}}"
    text = SOUND.replace("count: 2", f"count: {count}\n      {rollout}")
    assert problems(text, "ROL-003") == []


def test_connectivity_of_a_group_without_nodes_is_no_mistake_yet() -> None:
    text = SOUND.replace("ml.m5.xlarge", "ml.p5.48xlarge").replace(
        "count: 2", "count: 0\n      deep_health_checks: [InstanceConnectivity]"
    )
    assert problems(text, "DHC") == []


TWO_ZONES = SOUND.replace("zone: us-west-2b", "zone: usw2-az2\n  other_zones: [{zone: usw2-az1}]")
EFA_FURTHER_ON = "    - {{name: far, role: worker, zone: usw2-az1, partition: cpu, {types}}}\n"


@pytest.mark.parametrize(
    ("types", "rules"),
    [
        ("instance_types: [ml.g5.2xlarge, ml.g5.48xlarge]", {"ZON-004"}),
        ("instance_types: [ml.g5.48xlarge, ml.g5.2xlarge]", {"ZON-004"}),
        ("instance_types: [ml.g5.2xlarge, ml.g5.4xlarge]", set()),
    ],
)
def test_any_type_of_a_list_can_bring_efa_into_a_partition(types: str, rules: set[str]) -> None:
    text = TWO_ZONES.replace("ml.m5.xlarge", "ml.g5.48xlarge") + EFA_FURTHER_ON.format(types=types)
    assert {problem.rule for problem in problems(text, "ZON-004")} == rules


def test_login_nodes_are_like_some_of_the_workers() -> None:
    text = SOUND + (
        "    - {name: login, role: login, instance_type: ml.m5.large}\n"
        "    - {name: arm, role: worker, instance_type: ml.m7g.large, partition: arm}\n"
    )
    assert problems(text, "TYP") == []
