"""Output of a user's commands during faults; the workers have a separate zone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded_aws.existing import Existing
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import PATIENCE_SECONDS, Need, run_fault
from slurmpod.rehearsal.faults.registry import FAULTS, chosen
from slurmpod.rehearsal.faults.watch import Silence, Stage, Watch
from tests.nodes.faults.lab_cluster import ENVIRONMENT, NAME, WORKERS, lab_cluster
from tests.nodes.hyperpod_lab import ACCOUNT, REGION, HyperPodLab, group
from tests.nodes.test_lifecycle_bundles import by_api, upload

PLANNED, PLAN = "ml.p5.4xlarge", f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/planned"
ELSEWHERE = f"edition: 2026{ENVIRONMENT}".replace(
    "{zone: us-west-2a}", "{zone: us-west-2a, other_zones: [{zone: us-west-2b}]}"
).replace(
    f"ml.m5.large, count: {WORKERS}, partition: cpu}}",
    f"{PLANNED}, count: {WORKERS}, partition: cpu, zone: us-west-2b, training_plan_arn: {PLAN}}}",
)
SENTENCE = f"We currently do not have sufficient capacity to launch new {PLANNED}"


@dataclass(frozen=True)
class Place:
    """The lab, its cluster, and the environment file for commands."""

    lab: HyperPodLab
    cluster: FaultCluster
    file: Path

    def says(self, command: str, *subject: str) -> str:
        shown = self.lab.slurmpod(command, str(self.file), *subject)
        assert shown.returncode == 0, shown.stderr
        return " ".join(shown.stdout.split())

    def job(self, state: str) -> str:
        ask = ["squeue", "--noheader", f"--states={state}", "--format=%A"]
        return self.cluster.user.run(ask).split()[0]


@pytest.fixture(scope="module")
def place(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        Existing(lab.aws).training_plan(PLAN, instance_type=PLANNED, zone=f"{REGION}b")
        file = lab.folder / "environment.yaml"
        file.write_text(ELSEWHERE)
        common = by_api(lab, upload(lab, ELSEWHERE))
        elsewhere = {"OverrideVpcConfig": lab.network.override, "TrainingPlanArn": PLAN}
        groups = [
            group("head", "Controller", **common),
            group("login", "Login", **common),
            group("cpu", "Compute", WORKERS, InstanceType=PLANNED, **elsewhere, **common),
        ]
        lab.create_continuously(NAME, groups)
        yield Place(lab, lab_cluster(lab), file)


class Looking(Silence):
    """Runs a user's commands when a fault can be noticed."""

    def __init__(self, look: Callable[[], str]) -> None:
        self._look = look
        self.seen = ""

    def note(self, text: str) -> None:
        if " noticed: " in text:
            self.seen = self._look()


def late(place: Place) -> str:
    return place.says("status") + place.says("why", place.job("CONFIGURING"))


def part(place: Place) -> str:
    return place.says("status") + place.says("why", place.cluster.to_come()[0])


def reclaimed(place: Place) -> str:
    return place.says("status") + place.says("why", place.cluster.workers[0])


def failed(place: Place) -> str:
    return place.says("status") + place.says("why")


SHOWN = {
    "capacity-late": (late, [r"2/4", "Pending", SENTENCE, "it waits for ip-"]),
    "capacity-part": (part, [r"2/4", SENTENCE, "SageMaker says Pending"]),
    "spot-reclaimed": (reclaimed, [r"1/2", SENTENCE, "SageMaker says Pending"]),
    "database-down": (failed, ["slurmdbd is not running: job records are not written"]),
    "plan-ends": (
        failed,
        [r"0/2", "its training plan has ended", "training plan of cpu has ended"],
    ),
    "zone-fails": (
        failed,
        [r"0/2", SENTENCE, r"zone us-west-2b: none of its 2 nodes \(cpu\) runs"],
    ),
}
"""By fault, the command to run and its expected output."""


def test_all_faults_of_capacity_are_looked_at() -> None:
    of_capacity = {each.name for each in FAULTS if each.need not in (None, Need.CUSTOMER)}
    assert of_capacity == set(SHOWN) - {"database-down"}


@pytest.mark.parametrize("name", SHOWN)
def test_nothing_is_lost_and_commands_say_what_is_wrong(name: str, place: Place) -> None:
    look, wanted = SHOWN[name]
    looking = Looking(lambda: look(place))
    (fault,) = chosen([name])
    assert run_fault(fault, place.cluster, looking).lost == ()
    for text in wanted:
        assert re.search(text, looking.seen), looking.seen


def test_a_spot_instance_is_taken_back_whatever_runs(place: Place) -> None:
    cluster, watch = place.cluster, Watch(PATIENCE_SECONDS)
    worker, before = cluster.workers[0], cluster.instances()[cluster.workers[0]]
    (fault,) = chosen(["spot-reclaimed"])
    assert fault.strike
    fault.strike(cluster, watch, (cluster.workers[1], worker))
    watch.until("there is another", lambda: cluster.has_successor(worker, before), wanted=True)
    cluster.require_whole(watch)
    assert [each.stage for each in watch.moments] == [Stage.INJECTED, Stage.REPAIRED]
