"""Deep health checks on demand: which nodes can have them, and how each comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from slurmpod.aws.cluster import CHECKING, Node
from slurmpod.aws.cluster_operations import ClusterOperation, GroupWork
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations import node_check
from slurmpod.operations.node_check import (
    DeepCheck,
    nodes_of,
    plan_check,
    reports,
    wanted_checks,
)
from slurmpod.operations.node_plan import NodePlan
from slurmpod.operations.node_work import NodeWork
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.test_node_work import HEAD, JOB, ONE, TWO, World, slurm_node
from tests.sound_environment import SOUND

LIVE = (HEAD, ONE, TWO)
BEGAN = datetime(2026, 11, 27, 9, tzinfo=UTC)
STRESS = GroupWork("workers", ("i-1", "i-2"), ("InstanceStress",))


def operation(status: str, *ids: str, id_: str = "new") -> ClusterOperation:
    part = GroupWork("workers", ids, ("InstanceStress",))
    return ClusterOperation(id_, "DeepHealthCheck", status, BEGAN, (part,))


def environment(instance_type: str) -> Resolved:
    return resolve(read_as("dev.yaml", SOUND.replace("ml.m5.xlarge", instance_type)))


@dataclass
class Checks:
    """HyperPod's checks of a world: `steps` say what has happened at each look after the start."""

    world: World
    steps: list[Callable[[], None]] = field(default_factory=list)
    operations: list[ClusterOperation] = field(default_factory=list)
    asked: list[GroupWork] = field(default_factory=list)
    refusal: str = ""

    def newest(self, **_: str) -> tuple[ClusterOperation, ...]:
        return tuple(self.operations)

    def start_checks(self, groups: tuple[GroupWork, ...]) -> None:
        if self.refusal:
            raise AwsUnavailable(self.refusal)
        self.world.done.append("check")
        self.asked += groups
        self.operations.insert(0, operation("InProgress", *groups[0].instance_ids))
        self.becomes("i-1", status=CHECKING)
        self.becomes("i-2", status=CHECKING)

    def becomes(self, id_: str, **what: Any) -> None:
        self.world.nodes = tuple(
            replace(node, **what) if node.instance_id == id_ else node for node in self.world.nodes
        )

    def look(self, seconds: float) -> None:
        """Let the next thing happen while the command waits for HyperPod."""
        if self.steps and seconds == node_check.CHECK_POLL_SECONDS:
            self.steps.pop(0)()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def checks(world: World) -> Checks:
    return Checks(world)


def plan(world: World, *names: str) -> NodePlan:
    nodes = nodes_of(world.nodes, names)
    return plan_check(nodes, world.look([node.name for node in nodes]))


def ends(
    world: Any, checks: Any, *names: str, requeue: bool = False, said: list[str] | None = None
) -> dict[str, tuple[bool, str]]:
    work = NodeWork(world, world, (said if said is not None else []).append, pause=checks.look)
    found = DeepCheck(work, checks).run(
        plan(world, *names or ("workers",)), (STRESS,), requeue=requeue
    )
    return {end.name: (end.succeeded, end.detail) for end in found}


class TestChoice:
    def test_a_group_stands_for_its_nodes_once(self) -> None:
        assert nodes_of(LIVE, ["ip-2", "workers"]) == (TWO, ONE)

    def test_an_unknown_name_is_refused(self) -> None:
        with pytest.raises(AwsUnavailable, match="unknown node ip-9"):
            nodes_of(LIVE, ["ip-9"])

    @pytest.mark.parametrize(
        ("instance_type", "nodes", "expected"),
        [
            ("ml.g5.xlarge", (ONE, TWO), ("InstanceStress",)),
            ("ml.p5.48xlarge", (ONE, TWO), ("InstanceStress", "InstanceConnectivity")),
            ("ml.p5.48xlarge", (ONE,), ("InstanceStress",)),
        ],
    )
    def test_nodes_get_all_checks_that_they_can_have(
        self, instance_type: str, nodes: tuple[Node, ...], expected: tuple[str, ...]
    ) -> None:
        ids = tuple(node.instance_id for node in nodes)
        assert wanted_checks(nodes, environment(instance_type)) == (
            GroupWork("workers", ids, expected),
        )

    @pytest.mark.parametrize(
        ("nodes", "why"),
        [
            ((ONE,), "workers has ml.m5.xlarge: deep health checks test NVIDIA GPUs"),
            ((HEAD,), "controller is a controller"),
            ((replace(ONE, group="old"),), "has no group old"),
        ],
    )
    def test_others_are_refused_with_the_reason(self, nodes: tuple[Node, ...], why: str) -> None:
        with pytest.raises(AwsUnavailable, match=why):
            wanted_checks(nodes, environment("ml.m5.xlarge"))


class TestCheck:
    def test_jobs_leave_first_and_slurm_gets_nodes_back_while_they_are_checked(
        self, world: World, checks: Checks
    ) -> None:
        world.jobs = [JOB]
        checks.steps = [
            lambda: checks.becomes("i-1", status="Running"),
            lambda: checks.becomes("i-2", status="Running"),
        ]
        said: list[str] = []
        assert ends(world, checks, said=said) == {
            "ip-1": (True, "passed"),
            "ip-2": (True, "passed"),
        }
        drained, begun, back = ([world.done.index(each) for each in group] for group in (
            ("drain ip-1", "drain ip-2"), ("check",), ("resume ip-1", "resume ip-2")
        ))  # fmt: skip
        assert max(drained) < begun[0] < min(back)
        assert "waiting for job 7 (Ctrl-C is safe: the nodes stay drained)" in said
        assert said[-2:] == ["ip-1: passed", "ip-2: passed"]

    def test_a_node_that_fails_is_not_ok_whatever_stands_there_now(
        self, world: World, checks: Checks
    ) -> None:
        checks.steps = [
            lambda: checks.becomes("i-1", status="Pending"),
            lambda: checks.becomes("i-1", status="Running"),
            lambda: checks.becomes("i-2", instance_id="i-29", status="Running"),
        ]
        assert ends(world, checks) == {
            "ip-1": (False, "failed: HyperPod has rebooted it"),
            "ip-2": (False, "failed: HyperPod has replaced it with i-29"),
        }

    def test_a_failure_is_told_in_hyperpods_words(self, world: World, checks: Checks) -> None:
        checks.steps = [
            lambda: checks.becomes("i-1", status="Failure", message="Deep health checks failed."),
            lambda: checks.becomes("i-2", status="Running"),
        ]
        assert ends(world, checks)["ip-1"] == (False, "failed: Deep health checks failed.")

    def test_a_refusal_gives_the_nodes_back(self, world: World, checks: Checks) -> None:
        checks.refusal = "cannot check nodes of dev: ValidationException: no"
        assert ends(world, checks)["ip-1"] == (False, f"refused: {checks.refusal}")
        assert {"resume ip-1", "resume ip-2"} <= set(world.done)

    def test_what_an_interrupted_run_has_begun_is_waited_for_and_not_begun_again(
        self, world: World, checks: Checks
    ) -> None:
        world.nodes = tuple(replace(node, status=CHECKING) for node in (ONE, TWO))
        world.slurm["ip-1"] = slurm_node("ip-1", "IDLE+DRAIN", "slurmpod node check, since 2")
        world.slurm["ip-2"] = slurm_node("ip-2", "IDLE+DRAIN", "ask Bob")
        checks.steps = [
            lambda: checks.becomes("i-1", status="Running"),
            lambda: checks.becomes("i-2", status="Running"),
        ]
        assert ends(world, checks) == {"ip-1": (True, "passed"), "ip-2": (True, "passed")}
        assert world.done == ["resume ip-1"]

    def test_a_check_that_ended_between_two_looks_has_passed(
        self, world: World, checks: Checks
    ) -> None:
        def at_once(groups: tuple[GroupWork, ...]) -> None:
            checks.operations.insert(0, operation("Done", *groups[0].instance_ids))

        checks.operations = [operation("Done", id_="of yesterday")]
        checks.start_checks = at_once  # type: ignore[method-assign]
        assert ends(world, checks)["ip-1"] == (True, "passed")

    def test_nodes_with_which_hyperpod_does_not_begin_are_given_back(
        self, world: World, checks: Checks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(node_check, "BEGIN_SECONDS", -1.0)
        checks.start_checks = lambda _: None  # type: ignore[method-assign,assignment]
        assert ends(world, checks)["ip-1"] == (False, "HyperPod did not start the check")
        assert "resume ip-1" in world.done


class TestReport:
    def test_each_node_tells_how_it_is_and_when_it_was_checked(self, world: World) -> None:
        world.slurm["ip-2"] = slurm_node("ip-2", "IDLE+DRAIN", "ask Bob")
        view = world.look(["ip-1", "ip-2"])
        one, two = reports((ONE, TWO), view, [operation("Done", "i-1")])
        assert (one.succeeded, one.detail) == (
            True,
            "Running; idle; deep health check of 2026-11-27 09:00 (InstanceStress) ended",
        )
        assert (two.succeeded, two.detail) == (
            False,
            "Running; drain (ask Bob); no deep health check of this instance is known",
        )

    def test_a_node_out_of_service_says_why(self, world: World) -> None:
        lost = replace(ONE, status="Failure", message="Deep health checks failed.")
        (end,) = reports((lost,), world.look([]), [operation("InProgress")])
        assert not end.succeeded
        assert end.detail.startswith("Failure (Deep health checks failed.); deep health check")
        assert end.detail.endswith("under way")
