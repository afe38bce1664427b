"""New software by groups: in which order, when it stops, and what it does before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from slurmpod.aws.live_nodes import SoftwareUpdate
from slurmpod.operations.check_job import CheckedJob
from slurmpod.operations.node_plan import Action, NodePlan, plan_action
from slurmpod.operations.node_work import Outcome
from slurmpod.operations.patch import GroupPatch, Rollout, patches
from slurmpod.reading.read import read_as
from slurmpod.resolve import resolve
from tests.pure.operations.nodes import live
from tests.pure.operations.test_node_work import (
    HEAD,
    JOB,
    ONE,
    TWO,
    World,
    dev,
    slurm_node,
    worker,
)
from tests.sound_environment import SOUND

PYXIS = "/opt/slurm/lib/slurm/spank_pyxis.so"


@dataclass
class Patched(World):
    """A cluster whose updates end at the second question, as `ends` says of their group."""

    ends: dict[str, str] = field(default_factory=dict)
    updating: str = ""
    job: CheckedJob = field(default_factory=lambda: CheckedJob(True, "a job ran on ip-1"))
    lacks: dict[str, str] = field(default_factory=dict)

    def update_software(self, group: str) -> None:
        self.done.append(f"patch {group}")
        self.updating = group

    def software_update(self, group: str) -> SoftwareUpdate:
        if self.updating != group:
            return SoftwareUpdate("InService", "", "")
        if self.done[-1] != "asked":
            self.done.append("asked")
            return SoftwareUpdate("SystemUpdating", "InProgress", "")
        self.done.pop()
        for node in self.nodes:
            if node.group == group and node.name in self.slurm:
                before = self.slurm[node.name]
                self.slurm[node.name] = slurm_node(
                    before.name, "+".join(before.state), before.reason, started="3"
                )
        return SoftwareUpdate("InService", self.ends.get(group, "Succeeded"), "no scripts")

    def check_job(self, patch: GroupPatch) -> CheckedJob:
        self.done.append(f"job of {patch.group}")
        return self.job

    def save_records(self) -> None:
        self.done.append("save")


def run(world: Patched, *only: str, saves: bool = False) -> tuple[Outcome, ...]:
    plans: list[tuple[GroupPatch, NodePlan]] = []
    for patch in patches(dev(), only, world.nodes):
        view = world.look([node.name for node in patch.freed])
        plans.append((patch, plan_action(Action.PATCH, patch.freed, view, dev())))
    live: Any = world
    rollout = Rollout(
        worker(world, [], lambda _: None),
        live,
        lambda _: None,
        world.check_job,
        lambda _: world.lacks,
        lambda _: None,
    )
    return rollout.run(plans, saves=saves, requeue=False)


def test_the_controller_comes_first_and_jobs_leave_before_each_group() -> None:
    world = Patched(jobs=[JOB])
    assert all(end.succeeded for end in run(world, saves=True))
    drains, resumes = ["drain ip-1", "drain ip-2"], ["resume ip-1", "resume ip-2"]
    first = world.done.index("patch workers")
    controller = ["save", "patch controller", *resumes, "job of controller"]
    assert world.done[:first] == [*drains, *controller, *drains]
    assert world.done[first + 1 :] == [*resumes, "job of workers"]


def test_jobs_leave_login_nodes_too_which_hyperpod_has_in_the_partition_of_all_nodes() -> None:
    login = "    - {name: login, role: login, instance_type: ml.m5.large}\n"
    resolved = resolve(read_as("dev.yaml", SOUND + login))
    nodes = (HEAD, live("login", "i-9", "ip-9"), ONE)
    found = patches(resolved, (), nodes)
    freed = {each.group: [node.name for node in each.freed] for each in found}
    assert freed == {"controller": ["ip-9", "ip-1"], "login": ["ip-9"], "workers": ["ip-1"]}


def test_a_group_that_fails_stops_it_and_keeps_jobs_away() -> None:
    world = Patched(ends={"controller": "RollbackComplete"})
    (end,) = run(world)
    assert (end.name, end.succeeded) == ("ip-0", False)
    assert end.detail == "the update ended as RollbackComplete: no scripts"
    assert "patch workers" not in world.done
    assert not any(done.startswith("resume") for done in world.done)


def test_a_node_that_is_not_good_afterwards_stops_it() -> None:
    world = Patched(nodes=(HEAD, ONE, live("workers", "i-2", "ip-2", "Failure")))
    (end,) = run(world, "workers")
    assert (end.name, end.succeeded, end.detail) == ("ip-2", False, "its status is Failure")


def test_a_group_after_which_no_job_runs_stops_it() -> None:
    world = Patched(job=CheckedJob(False, "srun: error: Unable to contact slurm controller"))
    (end,) = run(world)
    assert (end.name, end.succeeded) == ("ip-0", False)
    assert "the test job failed: srun: error: Unable to contact" in end.detail
    assert "patch workers" not in world.done


def test_workers_whose_slurmd_cannot_start_beside_a_new_controller_wait_for_their_turn() -> None:
    world = Patched(lacks={"workers": PYXIS})
    assert all(end.succeeded for end in run(world))
    drains, resumes = ["drain ip-1", "drain ip-2"], ["resume ip-1", "resume ip-2"]
    controller = [*drains, "patch controller"]
    assert world.done == [*controller, "patch workers", *resumes, "job of workers"]


def test_where_their_turn_does_not_come_they_are_told() -> None:
    world = Patched(lacks={"workers": PYXIS})
    ends = run(world, "controller")
    assert [(end.name, end.succeeded) for end in ends] == [("ip-1", False), ("ip-2", False)]
    assert ends[0].detail.startswith(f"patch workers, too: slurmd there lacks {PYXIS}, which")


def test_an_update_that_runs_already_is_waited_for() -> None:
    world = Patched(updating="workers", done=["before"])
    assert all(end.succeeded for end in run(world, "workers"))
    assert "patch workers" not in world.done


def test_workers_that_an_interrupted_run_left_drained_are_drained_for_their_own_group() -> None:
    left = {
        name: slurm_node(name, "IDLE+DRAIN", f"{Action.PATCH.reason}, since 2")
        for name in ("ip-1", "ip-2")
    }
    world = Patched(slurm=left)
    assert all(end.succeeded for end in run(world))
    resumes, drains = ["resume ip-1", "resume ip-2"], ["drain ip-1", "drain ip-2"]
    controller = ["patch controller", *resumes, "job of controller"]
    assert world.done == [*controller, *drains, "patch workers", *resumes, "job of workers"]


@pytest.mark.parametrize(("only", "groups"), [((), 2), (("workers",), 1)])
def test_groups_may_be_named(only: tuple[str, ...], groups: int) -> None:
    assert len(patches(dev(), only, (HEAD, ONE, TWO))) == groups
