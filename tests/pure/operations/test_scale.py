"""Which nodes go when a group shrinks, and what becomes of the count in the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from slurmpod.aws.cluster import Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.live_nodes import LiveNodes
from slurmpod.operations.scale import (
    Growth,
    ScalePlan,
    check_group,
    count_in_file,
    plan_scale,
    with_count,
    write_count,
)
from slurmpod.operations.slurm_remote import SlurmView
from slurmpod.problems import InvalidEnvironment
from slurmpod.reading.read import Reading, read, read_as
from slurmpod.rules.check import sound
from slurmpod.slurm.nodes import SlurmNode
from tests.pure.operations.nodes import live
from tests.sound_environment import SOUND

NODES = tuple(
    live("workers", f"i-{name}", name, status)
    for name, status in (("a", "Running"), ("b", "Running"), ("c", "Failure"), ("d", "Running"))
)
VIEW = SlurmView(
    {
        "a": SlurmNode("a", frozenset({"ALLOCATED"})),
        "b": SlurmNode("b", frozenset({"IDLE"})),
        "d": SlurmNode("d", frozenset({"IDLE", "DRAIN"})),
    }
)


def plan(count: int, target: int = 4) -> ScalePlan:
    described = {"InstanceGroupName": "workers", "TargetCount": target}
    return plan_scale(described, count, NODES, VIEW)


@pytest.mark.parametrize(
    ("count", "leaving"), [(3, "c"), (2, "cd"), (1, "cdb"), (0, "cdba"), (5, ""), (4, "")]
)
def test_nodes_without_jobs_go_first(count: int, leaving: str) -> None:
    assert "".join(node.name for node in plan(count).leaving) == leaving


def test_fewer_nodes_to_come_take_none_that_is_there() -> None:
    assert plan(5, target=6).is_resized


def written(folder: Path, text: str) -> Reading:
    file = folder / "dev.yaml"
    file.write_text(text, newline="")
    return read(file)


@pytest.mark.parametrize("end", ["\n", "\r\n", " # a rack\n"])
def test_the_count_changes_in_the_file_and_nothing_else(tmp_path: Path, end: str) -> None:
    text = SOUND.replace("count: 2\n", f"count: 2{end}")
    place = count_in_file(written(tmp_path, text), "workers")
    assert place
    assert write_count(place, 12)
    with place.file.open(newline="") as file:
        assert file.read() == text.replace("count: 2", "count: 12")
    assert not write_count(place, 3)  # the file is another one by now


@pytest.mark.parametrize("count", ["", "      count: &n 2\n", '      count: "2"\n'])
def test_a_count_that_is_not_a_plain_number_is_left_alone(tmp_path: Path, count: str) -> None:
    reading = written(tmp_path, SOUND.replace("      count: 2\n", count))
    if reading.environment:
        assert count_in_file(reading, "workers") is None


def test_a_count_of_another_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "_base.yaml").write_text(SOUND)
    reading = written(tmp_path, "extends: _base.yaml\nname: other\n")
    assert reading.environment
    assert count_in_file(reading, "workers") is None


def test_a_count_that_the_rules_refuse_is_found_before_anything_happens() -> None:
    small = read_as("dev.yaml", SOUND.replace("10.0.0.0/16", "10.0.0.0/24"))
    assert sound(small)
    with pytest.raises(InvalidEnvironment):
        sound(with_count(small, "workers", 200))


def test_the_number_of_controllers_stays() -> None:
    environment = read_as("dev.yaml", SOUND).environment
    assert environment
    with pytest.raises(AwsUnavailable, match="has the controllers"):
        check_group(environment, "controller")


class Growing(LiveNodes):
    """A cluster in which a node more is there each time, and whose status ends as `InService`."""

    def __init__(self, *later: tuple[Node, ...], target: int, statuses: Sequence[str] = ()) -> None:
        self.__dict__["later"], self.__dict__["target"] = list(later), target
        self.__dict__["statuses"] = list(statuses)

    def all(self) -> tuple[Node, ...]:
        later: list[tuple[Node, ...]] = self.__dict__["later"]
        return later.pop(0) if len(later) > 1 else later[0]

    def group(self, name: str) -> dict[str, str | int]:
        statuses: list[str] = self.__dict__["statuses"]
        status = statuses.pop(0) if statuses else "InService"
        reason = "no capacity" if status == "InService" else ""
        target = self.__dict__["target"]
        return {"TargetCount": target, "ClusterStatus": status, "FailureMessage": reason}


def test_growth_ends_with_the_last_node_and_failures_are_told() -> None:
    live = Growing(NODES[:1], NODES[:3], target=3)
    ends = Growth(live, print, pause=lambda _: None).wait(ScalePlan("workers", 1, 3, ()))
    assert [end.succeeded for end in ends] == [True, True, False]


def test_growth_that_hyperpod_takes_back_is_a_failure() -> None:
    live = Growing(NODES[:1], target=1)
    (end,) = Growth(live, print, pause=lambda _: None).wait(ScalePlan("workers", 1, 3, ()))
    assert not end.succeeded
    assert "1 again: no capacity" in end.detail


def test_growth_waits_for_the_new_target_while_hyperpod_begins() -> None:
    live = Growing(NODES[:1], NODES[:1], NODES[:2], target=1, statuses=["Updating", "Updating"])
    ends = Growth(live, print, pause=lambda _: None).wait(ScalePlan("workers", 1, 2, ()))
    assert [end.succeeded for end in ends] == [True, True]
