"""Running the scripts again: what is asked of which nodes, and what counts as success."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_manager import SessionRequest
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.lifecycle import RunPlan, node_command, plan_run, run_plan
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.nodes import live
from tests.pure.operations.test_lifecycle_report import line
from tests.pure.session_fakes import Ssm
from tests.sound_environment import SOUND

URI = "s3://sagemaker-dev/lifecycle/0123456789ab"
NODES = tuple(
    live("cpu", f"i-{number}", f"ip-10-0-0-{number}", status)
    for number, status in ((1, "Running"), (2, "Pending"), (3, "Running"))
)
OF_OTHERS = live("gpu", "i-4", "ip-10-0-0-4", "Running")


class Cluster(ClusterView):
    """A cluster with these nodes, beside one of another group."""

    def __init__(self, uri: str = URI, there: tuple[Node, ...] = NODES) -> None:
        self._uri = uri
        self._there = there

    def cluster_id(self, cluster: str) -> str:
        return {"dev": "abcde01234yz"}[cluster]

    def bundle_uri(self, cluster: str, group: str) -> str:
        assert (cluster, group) == ("dev", "cpu")
        return self._uri

    def nodes(self, cluster: str, **_: str) -> tuple[Node, ...]:
        assert cluster == "dev"
        return (*self._there, OF_OTHERS)


class Answers(NodeSessions):
    """NodeSessions in which each node prints what it is told to."""

    def __init__(self, **printed: str) -> None:
        super().__init__(Ssm().clients())
        self._printed = printed
        self.asked: list[SessionRequest] = []

    def output(self, request: SessionRequest, patience_seconds: float | None = None) -> str:
        self.asked.append(request)
        printed = self._printed[request.target.rpartition("-")[2]]
        if printed.startswith("cannot"):
            raise AwsUnavailable(printed)
        return printed


def dev() -> Resolved:
    loaded = read_as("dev.yaml", SOUND)
    assert loaded.environment is not None, loaded.problems
    return resolve(loaded)


def plan(
    only: str | None = None, *, dry_run: bool = False, cluster: Cluster | None = None
) -> RunPlan:
    cluster = cluster or Cluster()
    return plan_run(cluster, dev(), "cpu", only, dry_run=dry_run)


class TestPlan:
    def test_is_for_the_running_nodes_of_the_group_and_its_deployed_scripts(self) -> None:
        assert [node.instance_id for node in plan().nodes] == ["i-1", "i-3"]
        assert plan().bundle_uri == URI

    @pytest.mark.parametrize("name", ["ip-10-0-0-3", "i-3"])
    def test_may_be_for_one(self, name: str) -> None:
        assert [node.name for node in plan(name).nodes] == ["ip-10-0-0-3"]

    @pytest.mark.parametrize("name", ["ip-10-0-0-2", "i-2", "i-4", "nobody"])
    def test_a_node_that_does_not_run_is_none(self, name: str) -> None:
        states = r"ip-10-0-0-1 \(Running\), ip-10-0-0-2 \(Pending\), ip-10-0-0-3 \(Running\)$"
        with pytest.raises(AwsUnavailable, match=states):
            plan(name)

    def test_a_node_without_an_address_goes_by_its_id(self) -> None:
        there = (NODES[0], replace(NODES[2], name="i-3"))
        assert [node.name for node in plan(cluster=Cluster(there=there)).nodes] == [
            "ip-10-0-0-1",
            "i-3",
        ]
        assert [node.name for node in plan("i-3", cluster=Cluster(there=there)).nodes] == ["i-3"]

    def test_a_group_without_scripts_has_nothing_to_run(self) -> None:
        with pytest.raises(AwsUnavailable, match="cpu has no scripts"):
            plan(cluster=Cluster(uri=""))


class TestCommand:
    def test_fetches_the_bundle_and_runs_it_as_hyperpod_would(self) -> None:
        *sudo, script = shlex.split(node_command(plan()))
        assert sudo == ["sudo", "--non-interactive", "sh", "-c"]
        make, clear, fetch, run = script.removeprefix("(").removesuffix(") 2>&1").split(" && ")
        assert make == "folder=$(mktemp --directory /run/slurmpod-XXXXXXXX)"
        assert clear == """trap 'rm -rf "$folder"' EXIT"""
        assert fetch.endswith(f'{URI} "$folder"')
        assert run.startswith("env --ignore-environment PATH=")
        assert run.endswith('bash "$folder/set_up_node.sh"')

    def test_says_so_when_nothing_is_to_be_changed(self) -> None:
        assert 'set_up_node.sh" --dry-run)' in node_command(plan(dry_run=True))

    def test_goes_through_session_manager_to_the_node(self) -> None:
        sessions = Answers(**{"1": line("ip-1"), "3": line("ip-3")})
        run_plan(plan(), lambda _: None, sessions)
        targets = {request.target: request for request in sessions.asked}
        request = targets["sagemaker-cluster:abcde01234yz_cpu-i-3"]
        assert request.document == "AWS-StartNonInteractiveCommand"
        assert request.command == node_command(plan())


class TestRun:
    def test_each_node_tells_how_it_went(self) -> None:
        told: list[str] = []
        sessions = Answers(**{"1": line("ip-1"), "3": line("ip-3", failure="no way")})
        reports = run_plan(plan(), lambda report: told.append(report.name), sessions)
        assert {report.name: report.succeeded for report in reports} == {
            "ip-10-0-0-1": True,
            "ip-10-0-0-3": False,
        }
        assert sorted(told) == ["ip-10-0-0-1", "ip-10-0-0-3"]

    def test_a_session_that_does_not_begin_fails_its_node_alone(self) -> None:
        refusal = "cannot open a session on node: TargetNotConnected: it is not connected"
        sessions = Answers(**{"1": line("ip-1"), "3": refusal})
        reports = run_plan(plan(), lambda _: None, sessions)
        assert {report.instance_id: report.summary for report in reports if not report.steps} == {
            "i-3": refusal
        }
        assert sum(report.succeeded for report in reports) == 1

    def test_a_session_that_ends_early_is_a_failure_with_its_last_words(self) -> None:
        sessions = Answers(**{"1": line("ip-1"), "3": "\nStarting session\naccess denied\n"})
        reports = run_plan(plan(), lambda _: None, sessions)
        (failed,) = (report for report in reports if not report.succeeded)
        assert failed.summary == "Starting session; access denied"

    def test_ctrl_c_ends_what_runs_and_begins_nothing_else(self) -> None:
        def interrupt(_: object) -> None:
            raise KeyboardInterrupt

        sessions = Answers(**{"1": line("ip-1"), "3": line("ip-3")})
        with pytest.raises(KeyboardInterrupt):
            run_plan(plan(), interrupt, sessions)
        assert NodeSessions.output(sessions, sessions.asked[0]) == ""
