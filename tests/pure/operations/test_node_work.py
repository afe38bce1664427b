"""Changes of nodes: what is refused, in which order things happen, and how each node ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from slurmpod.aws.cluster import Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations import node_work
from slurmpod.operations.node_plan import Action, NodePlan, chosen, plan_action
from slurmpod.operations.node_work import NodeWork, Outcome
from slurmpod.operations.slurm_remote import SlurmView
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from slurmpod.slurm.nodes import SlurmNode
from slurmpod.slurm.queue import QueuedJob
from tests.pure.operations.nodes import live
from tests.pure.operations.queued_job import a_job
from tests.sound_environment import SOUND

HEAD = live("controller", "i-0", "ip-0", "Running")
ONE = live("workers", "i-1", "ip-1", "Running")
TWO = live("workers", "i-2", "ip-2", "Running")
JOB = a_job("7", "alice", "1:02", "ip-1", "train")


def slurm_node(name: str, state: str = "IDLE", reason: str = "", started: str = "1") -> SlurmNode:
    return SlurmNode(name, frozenset(state.split("+")), reason, started)


def successor(node: Node) -> Node:
    return replace(node, instance_id=f"{node.instance_id}9")


@dataclass
class World:
    """A cluster and its Slurm, which do at once what they are told, and note it."""

    nodes: tuple[Node, ...] = (HEAD, ONE, TWO)
    slurm: dict[str, SlurmNode] = field(
        default_factory=lambda: {name: slurm_node(name) for name in ("ip-1", "ip-2")}
    )
    jobs: list[QueuedJob] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    errors: int = 0
    is_deaf: bool = False
    looked_at: set[str] = field(default_factory=set)
    becomes: Callable[[Node], Node] = successor

    def all(self) -> tuple[Node, ...]:
        if self.errors:
            self.errors -= 1
            raise AwsUnavailable("ThrottlingException: Rate exceeded")
        return self.nodes

    def group(self, name: str) -> dict[str, Any]:
        there = [node for node in self.nodes if node.group == name]
        return {"InstanceGroupName": name, "TargetCount": len(there), "Continuous": True}

    def look(self, names: Collection[str], *, seconds: int = 0) -> SlurmView:
        jobs = tuple(self.jobs)
        self.jobs = [] if seconds else self.jobs
        seen = {each: self.slurm[each] for each in names if each in self.slurm}
        self._hear()
        return SlurmView(seen, jobs)

    def drain(self, names: Collection[str], reason: str) -> None:
        for name in names:
            self.done.append(f"drain {name}")
            self.slurm[name] = slurm_node(name, "IDLE+DRAIN", f"{reason}, since 2")

    def resume(self, names: Collection[str]) -> None:
        for name in () if self.is_deaf else names:
            self.done.append(f"resume {name}")
            resumed = frozenset({"IDLE", "NOT_RESPONDING"})  # as slurmctld shows it for a second
            self.slurm[name] = replace(self.slurm[name], state=resumed, reason="")

    def requeue(self, jobs: Sequence[QueuedJob]) -> dict[str, str]:
        self.done += [f"requeue {job.id}" for job in jobs]
        self.jobs = []
        return {}

    def reboot(self, instance_ids: Sequence[str]) -> dict[str, str]:
        return self._anew("reboot", instance_ids)

    def replace(self, instance_ids: Sequence[str]) -> dict[str, str]:
        return self._anew("replace", instance_ids)

    def delete(self, instance_ids: Sequence[str]) -> dict[str, str]:
        self.done.append(f"delete {','.join(instance_ids)}")
        gone = set(instance_ids) - self.refused.keys()
        self.nodes = tuple(node for node in self.nodes if node.instance_id not in gone)
        return self.refused

    def _anew(self, verb: str, ids: Sequence[str]) -> dict[str, str]:
        self.done.append(f"{verb} {','.join(ids)}")
        accepted = set(ids) - self.refused.keys()
        self.nodes = tuple(
            self.becomes(node) if node.instance_id in accepted else node for node in self.nodes
        )
        for node in self.nodes:
            if node.name in self.slurm and node.instance_id not in {*self.refused, "i-0"}:
                self.slurm[node.name] = replace(self.slurm[node.name], started="3")
        return self.refused

    def _hear(self) -> None:
        """Let slurmctld hear of nodes, at the second look after it has resumed them."""
        for name, node in self.slurm.items():
            if name in self.looked_at:
                self.slurm[name] = replace(node, state=node.state - {"NOT_RESPONDING"})
        self.looked_at = {each for each, node in self.slurm.items() if not node.answers}


@pytest.fixture
def world() -> World:
    return World()


def dev() -> Resolved:
    return resolve(read_as("dev.yaml", SOUND))


def plan(world: World, action: Action, *names: str) -> NodePlan:
    nodes = chosen(world.nodes, names)
    return plan_action(action, nodes, world.look([n.name for n in nodes]), dev())


def worker(world: Any, said: list[str], pause: Callable[[float], None]) -> NodeWork:
    return NodeWork(world, world, said.append, pause=pause)


def ends(
    world: World, action: Action, *names: str, requeue: bool = False
) -> dict[str, tuple[bool, str]]:
    work = worker(world, [], lambda _: None)
    found: tuple[Outcome, ...] = work.run(plan(world, action, *names), requeue=requeue)
    return {end.name: (end.succeeded, end.detail) for end in found}


def left_drained(world: World, action: Action, status: str, why: str) -> None:
    """Let an interrupted run have drained a node, which HyperPod refuses from then on."""
    world.nodes = (HEAD, replace(ONE, status=status), TWO)
    world.slurm["ip-1"] = slurm_node("ip-1", "IDLE+DRAIN", f"{action.reason}, since 2")
    world.refused = {"i-1": why}


class TestPlan:
    def test_a_node_goes_by_its_name_or_id_and_once(self, world: World) -> None:
        assert plan(world, Action.DRAIN, "i-1", "ip-1").named() == ("ip-1",)

    def test_a_node_that_is_not_there_is_told_with_those_that_are(self, world: World) -> None:
        with pytest.raises(AwsUnavailable, match=r"unknown node ip-9; .*ip-1 \(workers\)"):
            plan(world, Action.DRAIN, "ip-9")

    @pytest.mark.parametrize("action", [Action.REPLACE, Action.DELETE])
    def test_controllers_are_neither_replaced_nor_deleted(
        self, world: World, action: Action
    ) -> None:
        with pytest.raises(AwsUnavailable, match="is a controller, which HyperPod cannot"):
            plan(world, action, "ip-0")

    def test_what_slurm_does_not_know_cannot_be_drained(self, world: World) -> None:
        with pytest.raises(AwsUnavailable, match="is not in Slurm"):
            plan(world, Action.DRAIN, "ip-0")


class TestWork:
    def test_jobs_end_before_a_node_reboots_and_takes_jobs_again(self, world: World) -> None:
        world.jobs = [JOB]
        world.becomes = lambda node: replace(node, status="Pending")
        back = worker(world, [], lambda _: setattr(world, "nodes", (HEAD, ONE, TWO)))
        (end,) = back.run(plan(world, Action.REBOOT, "ip-1"))
        assert (end.succeeded, end.detail) == (True, "takes jobs")
        assert world.done == ["drain ip-1", "reboot i-1", "resume ip-1"]

    def test_a_node_takes_jobs_once_slurmctld_has_heard_of_it(self, world: World) -> None:
        world.slurm["ip-1"] = slurm_node("ip-1", "IDLE+DRAIN", "x")
        assert ends(world, Action.RESUME, "ip-1") == {"ip-1": (True, "takes jobs")}
        assert world.slurm["ip-1"].answers

    def test_jobs_are_requeued_on_demand(self, world: World) -> None:
        world.jobs = [JOB]
        assert ends(world, Action.DRAIN, "ip-1", requeue=True) == {"ip-1": (True, "drained")}
        assert world.done == ["drain ip-1", "requeue 7"]

    def test_a_refused_node_is_given_back_and_the_others_go_on(self, world: World) -> None:
        world.refused = {"i-1": "InvalidInstanceStatus: no"}
        world.becomes = successor
        assert ends(world, Action.REPLACE, "ip-1", "ip-2") == {
            "ip-1": (False, "refused: InvalidInstanceStatus: no"),
            "ip-2": (True, "takes jobs"),
        }
        assert {"resume ip-1", "resume ip-2"} < set(world.done)

    def test_a_replacement_that_fails_says_why_and_stays_drained(self, world: World) -> None:
        world.becomes = lambda node: replace(successor(node), status="Failure", message="no disk")
        assert ends(world, Action.REPLACE, "ip-1") == {"ip-1": (False, "replace failed: no disk")}
        assert "resume ip-1" not in world.done

    def test_what_others_hold_stays_held_with_their_reason(self, world: World) -> None:
        world.slurm["ip-1"] = slurm_node("ip-1", "IDLE+DRAIN", "bad cable")
        world.becomes = successor
        assert ends(world, Action.REPLACE, "ip-1") == {
            "ip-1": (True, "back; still drained in Slurm, reason: bad cable")
        }
        assert world.done == ["replace i-1"]

    def test_an_interrupted_replacement_goes_on_where_it_was(self, world: World) -> None:
        reason = f"{Action.REPLACE.reason}, since 2 : Not responding"
        world.slurm["ip-1"] = slurm_node("ip-1", "IDLE+DRAIN", reason, started="3")
        assert plan(world, Action.REPLACE, "ip-1").nodes[0].is_done
        assert ends(world, Action.REPLACE, "ip-1") == {"ip-1": (True, "takes jobs")}
        assert world.done == ["resume ip-1"]

    @pytest.mark.parametrize(
        ("action", "status", "why", "now"),
        [
            (Action.REBOOT, "Pending", "InvalidInstanceStatus: Pending", ONE),
            (Action.REPLACE, "Running", "InstanceIdInUse: busy", successor(ONE)),
            (Action.REPLACE, "Pending", "InvalidInstanceStatus: Pending", ONE),
            (Action.REPLACE, "Pending", "cannot replace nodes of dev: Throttling: slow", ONE),
        ],
    )
    def test_what_an_interrupted_run_has_begun_is_waited_for(
        self, world: World, action: Action, status: str, why: str, now: Node
    ) -> None:
        left_drained(world, action, status, why)

        def come_back(_: float) -> None:
            world.nodes = (HEAD, now, TWO)
            world.slurm["ip-1"] = replace(world.slurm["ip-1"], started="3")

        said: list[str] = []
        (end,) = worker(world, said, come_back).run(plan(world, action, "ip-1"))
        assert (end.succeeded, end.detail) == (True, "takes jobs")
        assert world.done == [f"{action} i-1", "resume ip-1"]
        assert not any("refused" in line for line in said)

    def test_a_deletion_that_an_interrupted_run_has_begun_is_waited_for(self, world: World) -> None:
        left_drained(world, Action.DELETE, "Running", "NodeIdInUse: busy")
        late = worker(world, [], lambda _: setattr(world, "nodes", (HEAD, TWO)))
        (end,) = late.run(plan(world, Action.DELETE, "ip-1"))
        assert (end.succeeded, end.detail) == (True, "deleted")
        assert world.done == ["delete i-1"]

    @pytest.mark.parametrize(
        ("status", "why"),
        [
            ("Running", "InternalServerError: try again"),
            ("Failure", "InvalidInstanceStatus: Failure"),
            ("SystemUpdating", "InstanceIdInUse: it is being updated"),
        ],
    )
    def test_a_refused_node_that_an_earlier_run_has_drained_stays_so(
        self, world: World, status: str, why: str
    ) -> None:
        left_drained(world, Action.REPLACE, status, why)
        assert ends(world, Action.REPLACE, "ip-1") == {
            "ip-1": (False, f"refused: {why}; it stays drained")
        }
        assert world.done == ["replace i-1"]

    def test_a_node_at_which_other_work_goes_on_is_not_waited_for_without_end(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(node_work, "AWAY_SECONDS", -1.0)
        why = "InstanceIdInUse: the cluster is being updated"
        left_drained(world, Action.REPLACE, "Running", why)
        assert ends(world, Action.REPLACE, "ip-1") == {
            "ip-1": (False, f"refused: {why}; it stays drained")
        }
        assert world.done == ["replace i-1"]

    def test_nodes_are_deleted_after_their_jobs(self, world: World) -> None:
        world.jobs = [JOB]
        assert ends(world, Action.DELETE, "ip-1") == {"ip-1": (True, "deleted")}
        assert world.done == ["drain ip-1", "delete i-1"]

    def test_a_node_that_slurm_holds_again_has_failed(self, world: World) -> None:
        world.slurm["ip-1"] = slurm_node("ip-1", "DOWN", "Low RealMemory")
        world.is_deaf = True
        assert ends(world, Action.RESUME, "ip-1") == {
            "ip-1": (False, "Slurm holds it: down, Low RealMemory")
        }

    def test_answers_that_fail_to_come_are_asked_for_again(self, world: World) -> None:
        reboot = plan(world, Action.DELETE, "ip-1")
        world.errors = 3
        said: list[str] = []
        (end,) = worker(world, said, lambda _: None).run(reboot)
        assert end.succeeded
        assert sum("Rate exceeded; trying again" in line for line in said) == 3

    def test_errors_that_do_not_end_are_raised(self, world: World) -> None:
        reboot = plan(world, Action.DELETE, "ip-1")
        world.errors = 100
        with pytest.raises(AwsUnavailable, match="Rate exceeded"):
            worker(world, [], lambda _: None).run(reboot)
