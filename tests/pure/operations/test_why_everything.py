"""`why` without a name: all that is wrong, the worst first, each once."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli.why import print_everything
from slurmpod.operations.why import everything
from slurmpod.operations.why.everything import Everything, Examination
from slurmpod.operations.why.why import Witnesses
from slurmpod.reading.read import read_as
from slurmpod.resolve import resolve
from tests.pure.operations.cluster_at_work import HEAD, NOW, WORKERS, Cluster, Node
from tests.sound_environment import SOUND

NAMES = [f"ip-10-0-1-{n}" for n in range(1, 5)]
WELL = "clock {}\nservice slurmd ActiveState=active LoadState=loaded\nmount /fsx 0\nspool there\n"
OWN = WELL.format(int(NOW.timestamp()))
DRAINED = "Reason=bad NVLink [alice@2026-11-23T21:10:00]"


def cluster(*nodes: Node, **answers: str) -> Cluster:
    """Return a cluster whose workers are idle; `answers` are those of the controller."""
    found = Cluster(nodes or (HEAD, *WORKERS))
    idle = "".join(f"NodeName={name} State=IDLE+CLOUD Gres=gpu:8 \n" for name in NAMES)
    found.answers_of["i-0"] = {"zone": "+0000\n", "state": idle, "own": OWN, **answers}
    for _, instance_id, *_ in WORKERS:
        found.answers_of[instance_id] = {"zone": "+0000\n", "own": f"{OWN}gpus 8\n"}
    return found


def drained(*numbers: int) -> str:
    """Return what scontrol says while some workers are drained for the same reason."""
    states = dict.fromkeys(numbers, f"IDLE+CLOUD+DRAIN Gres=gpu:8 {DRAINED}")
    lines = (f"NodeName={NAMES[n - 1]} State={states.get(n, 'IDLE+CLOUD')} \n" for n in range(1, 5))
    return "".join(lines)


def examined(asked: Cluster) -> Everything:
    loaded = read_as("dev.yaml", SOUND)
    clients: Any = asked.clients()
    view, logs = ClusterView(clients), ClusterLogs(clients)
    witnesses = Witnesses(view, logs, asked.sessions(), resolve(loaded), "dev.yaml", NOW, 24)
    return Examination(witnesses).examine()


def test_where_all_is_well_nothing_is_told() -> None:
    found = examined(cluster())
    assert found.troubles == ()
    assert (found.nodes, found.asked) == (5, 5)


def test_nodes_with_one_cause_are_told_of_once_with_a_command_for_the_first() -> None:
    (found,) = examined(cluster(state=drained(2, 3))).troubles
    assert found.what == "ip-10-0-1-[2-3]"
    assert found.says == "alice took the node out of service: bad NVLink"
    assert found.fix.endswith("slurmpod node resume dev.yaml ip-10-0-1-2")


def test_what_takes_most_away_comes_first() -> None:
    asked = cluster(
        state=drained(2),
        queue="8|DependencyNeverSatisfied\n9|Resources\n10|JobHeldUser\n",
        jobs="2026-11-23T20:00:00|2026-11-23T20:10:00|7|FAILED|0:53|bob|ip-10-0-1-1\n",
    )
    asked.answers_of["i-4"]["own"] = OWN.replace("mount /fsx 0", "mount /fsx 1")
    found = examined(asked).troubles
    assert [each.what for each in found] == ["ip-10-0-1-2", "ip-10-0-1-4", "job 8", "job 7"]
    assert found[1].says == "/fsx is not mounted on the node"
    assert found[2].says == "waiting does not help: DependencyNeverSatisfied"
    assert "could not be opened" in found[3].says


def test_a_job_that_never_had_a_node_did_not_end_by_its_script() -> None:
    asked = cluster(jobs="None|2026-11-23T20:10:00|7|FAILED|1:0|bob|None assigned\n")
    (found,) = examined(asked).troubles
    assert "before it began" in found.says
    assert "its script" not in found.says


def test_a_slurmctld_that_is_silent_is_first_and_told_of_once() -> None:
    silent = "slurm_load_node error: Unable to contact slurm controller (connect failure)\n"
    (found,) = examined(cluster(state=silent)).troubles
    assert found.what == "Slurm"
    assert found.says.startswith("slurmctld does not answer")


def test_a_worker_that_runs_and_that_slurm_does_not_know_is_told_of() -> None:
    state = "".join(f"NodeName={name} State=IDLE+CLOUD \n" for name in NAMES[:3])
    (found,) = examined(cluster(state=state)).troubles
    assert (found.what, found.says) == (
        "ip-10-0-1-4",
        "Slurm does not know the node, though its instance runs",
    )


def test_nodes_that_sagemaker_does_not_have_are_told_of_by_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = Cluster._group
    monkeypatch.setattr(Cluster, "_group", lambda *asked: {**group(*asked), "TargetCount": 4})
    found = examined(cluster(HEAD, *WORKERS[:2])).troubles
    assert {each.what: each.says for each in found} == {
        "workers": "SageMaker has 2 of the 4 nodes that it is to have",
        "controller": "SageMaker has 1 of the 4 nodes that it is to have",
    }


def test_a_node_that_failed_is_told_of_once() -> None:
    failed = ("workers", "i-4", "10.0.1.4", "Failure", "no capacity")
    (found,) = examined(cluster(HEAD, *WORKERS[:3], failed)).troubles
    assert (found.what, found.says) == ("ip-10-0-1-4", "SageMaker says Failure: no capacity")


def test_jobs_that_cannot_be_started_show_their_node() -> None:
    jobs = "2026-11-23T21:00:00|2026-11-23T21:00:01|7|REQUEUED|0:0|bob|ip-10-0-1-1\n"
    (found,) = examined(cluster(jobs=jobs)).troubles
    assert found.what == "ip-10-0-1-1"
    assert "cannot start them" in found.says


def test_in_large_clusters_only_nodes_in_trouble_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everything, "ASKED_THEMSELVES", 2)
    found = examined(cluster(state=drained(3)))
    assert found.asked == 2, "the controller and the one in trouble"


def test_who_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise AwsUnavailable("AccessDeniedException: no sessions for you")

    monkeypatch.setattr(Cluster, "_output", refuse)
    found = examined(cluster())
    assert "AccessDeniedException" in found.unread["controller"]
    assert {*NAMES} <= found.unread.keys()


@pytest.mark.parametrize("at", ["i-0", "i-2"])
def test_an_interrupt_ends_the_sessions(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ended = cluster(), []
    output, sessions = asked._output, asked.sessions()

    def interrupted(request: Any, seconds: float) -> str:
        if request.target.endswith(at):
            raise KeyboardInterrupt
        return output(request, seconds)

    sessions.output, sessions.end = interrupted, lambda: ended.append(True)
    monkeypatch.setattr(asked, "sessions", lambda: sessions)
    with pytest.raises(KeyboardInterrupt):
        examined(asked)
    assert ended


def test_each_has_its_next_step_on_a_line_of_its_own() -> None:
    page = io.StringIO()
    print_everything(examined(cluster(state=drained(2))), Console(file=page, width=60))
    first, what, step = page.getvalue().splitlines()
    assert first == "dev: 5 nodes, 5 of them asked"
    assert what == "1. ip-10-0-1-2: alice took the node out of service: bad NVLink"
    assert step.startswith("   next: when it is in order: slurmpod node resume dev.yaml")
