"""Why a node is out of service, and why a job waits or failed: the story and its cause."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli.main import run
from slurmpod.cli.why import print_story
from slurmpod.operations.attempt import plain
from slurmpod.operations.why.job_states import STATES
from slurmpod.operations.why.meanings import meaning_of
from slurmpod.operations.why.story import Story
from slurmpod.operations.why.why import NOBODY, Witnesses
from slurmpod.problems import ExitCode
from slurmpod.reading.read import read_as
from slurmpod.resolve import resolve
from tests.pure.operations.cluster_at_work import NOW, Cluster
from tests.pure.operations.test_lifecycle_report import line as report_line
from tests.sound_environment import SOUND

NODE = "ip-10-0-1-3"
DRAINED = (
    f"NodeName={NODE} Arch=x86_64 State=IDLE+CLOUD+DRAIN ThreadsPerCore=2 "
    "Reason=bad NVLink [alice@2026-11-23T21:10:00]\n"
)
WELL = f"NodeName={NODE} Arch=x86_64 State=ALLOCATED+CLOUD ThreadsPerCore=2\n"
JOB = "JobId=7 JobName=train UserId=alice(1000) JobState={} Reason={} Dependency=(null) {}\n"
HAD = f"NodeList={NODE}"  # as every job has it that began


def node_cluster(state: str = DRAINED, **more: str) -> Cluster:
    """Return a cluster whose controller tells of one node; `more` is what the node itself tells."""
    cluster = Cluster()
    cluster.answers_of["i-0"] = {
        "zone": "+0100\n",
        "state": state,
        "slurmctld": (
            f"[2026-11-23T22:10:00.250] update_node: node {NODE} reason set to: bad NVLink\n"
            f"[2026-11-23T22:10:00.251] update_node: node {NODE} state set to DRAINED\n"
        ),
        "records": "Unknown|DRAIN|bad NVLink|alice(1001)\n",
        "jobs": (
            "2026-11-23T22:00:00|2026-11-23T22:05:00|6|FAILED|1:0|bob\n"
            "2026-11-23T22:00:00|2026-11-23T21:50:00|5|COMPLETED|0:0|bob\n"
        ),
    }
    cluster.answers_of["i-3"] = {"zone": "+0000\n", "slurmd": "", "kernel": "", "own": "", **more}
    return cluster


def job_cluster(state: str, reason: str = "None", more: str = "", records: str = "") -> Cluster:
    cluster = Cluster()
    answers = {"zone": "+0000\n", "state": JOB.format(state, reason, more), "records": records}
    cluster.answers_of["i-0"] = answers
    cluster.answers_of["i-1"] = {"zone": "+0000\n"}
    return cluster


def why(cluster: Cluster, subject: str = NODE) -> Story:
    loaded = read_as("dev.yaml", SOUND)
    assert loaded.environment is not None
    clients: Any = cluster.clients()
    return Witnesses(
        ClusterView(clients),
        ClusterLogs(clients),
        cluster.sessions(),
        resolve(loaded),
        "dev.yaml",
        NOW,
        24 * 7,
    ).why(subject)


class TestNode:
    def test_what_many_tell_is_one_story_in_order_of_time(self) -> None:
        cluster = node_cluster()
        cluster.events = [
            {"EventTime": NOW, "Description": "second", "InstanceId": "i-3"},
            {"EventTime": NOW.replace(hour=20), "Description": "first", "InstanceId": "i-3"},
        ]
        story = why(cluster)
        told = [each.text for each in story.moments]
        assert told == [
            "launched as i-3",
            "first",
            "job 6 of bob ended: FAILED, 1:0",
            f"update_node: node {NODE} reason set to: bad NVLink",
            f"update_node: node {NODE} state set to DRAINED",
            "second",
        ]
        assert story.now == {
            "SageMaker": "Running",
            "Slurm": "IDLE+CLOUD+DRAIN: bad NVLink [alice@2026-11-23T21:10:00]",
        }

    def test_times_of_a_node_are_those_of_its_own_clock(self) -> None:
        (moment,) = [each for each in why(node_cluster()).moments if "job 6" in each.text]
        assert moment.time.utcoffset() != NOW.utcoffset()
        assert moment.time.timestamp() == NOW.replace(hour=21, minute=5).timestamp()

    def test_who_took_it_out_is_the_cause_with_the_way_back(self) -> None:
        cause = why(node_cluster()).cause
        assert cause.says == "alice took the node out of service: bad NVLink"
        assert cause.fix == f"when it is in order: slurmpod node resume dev.yaml {NODE}"

    def test_what_was_over_before_it_was_taken_out_is_no_cause(self) -> None:
        cluster = node_cluster()
        cluster.answers_of["i-0"]["slurmctld"] = (
            f"[2026-11-23T22:01:00.250] Node {NODE} unexpectedly rebooted boot_time=1\n"
            f"[2026-11-23T22:02:00.250] update_node: node {NODE} state set to IDLE\n"
            + cluster.answers_of["i-0"]["slurmctld"]
        )
        assert why(cluster).cause.says == "alice took the node out of service: bad NVLink"

    def test_it_still_began_with_a_failed_gpu_when_somebody_let_jobs_in_again(self) -> None:
        xid = "2026-11-23T20:59:58+00:00 ip-10-0-1-3 kernel: NVRM: Xid (PCI:0000:53:00): 79, gone\n"
        cluster = node_cluster(kernel=xid)
        cluster.answers_of["i-0"]["slurmctld"] = (
            f"[2026-11-23T22:02:00.250] update_node: node {NODE} state set to IDLE\n"
            + cluster.answers_of["i-0"]["slurmctld"]
        )
        story = why(cluster)
        assert story.began == "a GPU has failed (Xid 79)"
        assert story.cause.fix.endswith(f"slurmpod node replace dev.yaml {NODE}")

    def test_what_it_began_with_is_told_beside_who_took_it_out(self) -> None:
        xid = "2026-11-23T21:09:58+00:00 ip-10-0-1-3 kernel: NVRM: Xid (PCI:0000:53:00): 79, gone\n"
        story = why(node_cluster(kernel=xid))
        assert story.cause.says == "alice took the node out of service: bad NVLink"
        assert story.began == "a GPU has failed (Xid 79)"
        assert story.cause.fix.endswith(f"slurmpod node replace dev.yaml {NODE}")

    def test_a_failed_step_of_the_lifecycle_scripts_brings_its_own_fix(self) -> None:
        cluster = node_cluster()
        failure = "FAILED: mount_fsx: no answer from 10.0.0.9; fix: open port 988"
        cluster.log_lines["LifecycleConfig/workers/i-3"] = [
            "[SageMaker] Downloading lifecycle scripts",
            report_line(NODE, failure=failure),
        ]
        story = why(cluster)
        assert "lifecycle" in {each.source for each in story.moments}
        assert story.began.endswith("failed in step mount_fsx: no answer from 10.0.0.9")
        assert story.cause.fix == "open port 988"

    def test_a_finding_of_the_health_agent_is_told(self) -> None:
        cluster = node_cluster()
        finding = {"reason": "NvidiaSmiError", "HealthMonitoringAgentDetectionEvent": "HealthEvent"}
        stream = "SagemakerHealthMonitoringAgent/workers/i-3"
        cluster.log_lines[stream] = [json.dumps(finding)]
        assert why(cluster).began == "HyperPod's health agent has found a fault: NvidiaSmiError"

    def test_a_node_that_takes_jobs_has_no_cause_whatever_happened_before(self) -> None:
        cause = why(node_cluster(WELL)).cause
        assert cause.says == f"{NODE} is healthy: it takes jobs"
        assert cause.fix.endswith("slurmpod status dev.yaml")

    def test_it_is_found_by_its_instance_id_as_well(self) -> None:
        assert why(node_cluster(), "i-3").subject == NODE

    def test_one_that_is_gone_is_told_by_slurm_alone(self) -> None:
        story = why(node_cluster(), "ip-10-0-9-9")
        assert story.now["SageMaker"] == "there is no such node now"
        assert story.moments

    @pytest.mark.parametrize(
        ("operation", "who"),
        [("list_cluster_events", "events"), ("filter_log_events", "CloudWatch")],
    )
    def test_who_may_not_be_asked_is_named_and_the_rest_is_told(
        self, operation: str, who: str
    ) -> None:
        cluster = node_cluster()
        cluster.refuse(operation, "AccessDeniedException")
        story = why(cluster)
        assert "AccessDeniedException" in story.unread[who]
        assert story.cause.says.endswith("bad NVLink")

    @pytest.mark.parametrize("subject", [NODE, "7"])
    def test_without_a_session_it_says_that_it_does_not_know(
        self, subject: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> str:
            raise AwsUnavailable("no sessions for you")

        monkeypatch.setattr(Cluster, "_output", refuse)
        story = why(node_cluster(WELL), subject)
        assert story.cause.says == NOBODY
        assert story.unread["controller"] == "no sessions for you"

    def test_a_node_that_was_not_asked_itself_is_not_called_well(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        output = Cluster._output

        def refuse(cluster: Cluster, request: Any, seconds: float) -> str:
            if request.target.endswith("i-3"):
                raise AwsUnavailable("no session on this node")
            return output(cluster, request, seconds)

        monkeypatch.setattr(Cluster, "_output", refuse)
        cause = why(node_cluster(WELL)).cause
        assert cause.says.endswith("it was not asked itself")

    def test_a_cluster_without_events_is_no_failure(self) -> None:
        cluster = node_cluster()
        cluster.refuse("list_cluster_events", "Continuous only")
        assert why(cluster).unread == {}


class TestJob:
    @pytest.mark.parametrize(
        ("state", "reason", "more", "says", "fix"),
        [
            ("PENDING", "Resources", "", "waits for nodes that are busy", "fewer nodes"),
            ("PENDING", "QOSMaxJobsPerUserLimit", "", "QOSMaxJobsPerUserLimit", "raise the limit"),
            ("PENDING", "Nodes_required_for_job_are_DOWN,_DRAINED", "", "out of service", "status"),
            ("PENDING", "NewReason", "", "it waits: NewReason", "squeue(1)"),
            ("FAILED", "NonZeroExitCode", f"ExitCode=127:0 {HAD}", "was not found", "output"),
            ("FAILED", "None", f"ExitCode=3:0 {HAD}", "ended with status 3", "output: /fsx/7.out"),
            ("FAILED", "None", f"ExitCode=0:11 {HAD}", "signal 11 ended it", "output"),
            (
                "FAILED",
                "None",
                "ExitCode=0:1",
                "it failed before it began",
                "logs dev.yaml --job 7",
            ),
            ("TIMEOUT", "TimeLimit", "", "reached its time limit", "--time"),
            ("COMPLETED", "None", "", "it ended well", ""),
        ],
    )
    def test_its_state_is_put_into_plain_words(
        self, state: str, reason: str, more: str, says: str, fix: str
    ) -> None:
        cluster = job_cluster(state, reason, f"{more} StdOut=/fsx/7.out")
        cause = why(cluster, "7").cause
        assert says in cause.says
        assert fix in cause.fix

    @pytest.mark.parametrize(
        ("batch", "ids", "says"),
        [
            (0, ("7",), "runs nothing there"),
            (0, ("7", "7.extern"), "runs nothing there"),
            (0, ("7", "7.0"), "it runs"),
            (1, ("7",), "it runs"),
            (0, (), "it runs"),
        ],
    )
    def test_an_srun_that_waits_while_its_job_has_nodes_is_told_of(
        self, batch: int, ids: Sequence[str], says: str
    ) -> None:
        """Without records nobody knows of its steps."""
        rest = "RUNNING|0:0|2026-11-23T20:00:00|Unknown|ip-10-0-1-1|alice|2026-11-23T19:00:00|None"
        records = "".join(f"{id_}|{rest}\n" for id_ in ids) or "Slurm accounting storage is off\n"
        cluster = job_cluster("RUNNING", more=f"BatchFlag={batch}", records=records)
        assert says in why(cluster, "7").cause.says

    def test_memory_that_ran_out_on_its_node_goes_before_the_exit_code(self) -> None:
        cluster = job_cluster("FAILED", "None", "ExitCode=1:0 NodeList=ip-10-0-1-1")
        kernel = (
            "2026-11-23T21:00:00+00:00 ip-10-0-1-1 kernel: Out of memory: Killed process 9 (py)\n"
        )
        cluster.answers_of["i-1"]["kernel"] = kernel
        assert why(cluster, "7").cause.says == "memory ran out, and Linux ended a program"

    def test_one_that_slurmctld_has_forgotten_is_told_by_the_records(self) -> None:
        record = (
            "7|CANCELLED by 1001|0:0|2026-11-23T20:00:00|2026-11-23T20:10:00|ip-10-0-1-1|alice|"
            "2026-11-23T19:00:00|None\n"
        )
        cluster = job_cluster("", records=record)
        cluster.answers_of["i-0"]["state"] = "slurm_load_jobs error: Invalid job id specified\n"
        story = why(cluster, "7")
        assert [each.text for each in story.moments] == [
            "alice submitted it",
            "it began on ip-10-0-1-1",
            "it ended: CANCELLED by 1001, exit code 0:0",
        ]
        assert story.cause.says == "user 1001 cancelled the job"

    def test_one_that_never_was(self) -> None:
        cluster = job_cluster("")
        cluster.answers_of["i-0"]["state"] = "slurm_load_jobs error: Invalid job id specified\n"
        assert "no such job within 168 hours" in why(cluster, "7").cause.says


def test_the_last_lines_are_the_cause_and_what_to_do_also_on_narrow_terminals() -> None:
    page = io.StringIO()
    print_story(why(node_cluster()), Console(file=page, width=80, highlight=False))
    lines = page.getvalue().splitlines()
    assert max(map(len, lines[:-1])) <= 80
    assert "most probably: alice took the node out of service: bad NVLink" in lines
    assert lines[-1] == f"next: when it is in order: slurmpod node resume dev.yaml {NODE}"


def test_as_json_the_story_is_whole() -> None:
    found = json.loads(json.dumps(plain(why(node_cluster()))))
    assert found["subject"] == NODE
    assert found["cause"]["says"].endswith("bad NVLink")


@pytest.mark.parametrize("subject", ["a;b", "$(x)", "7_x", "1 or 2", "", "7'"])
def test_what_is_neither_a_node_nor_a_job_is_refused(
    subject: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", "dev.yaml", subject]) == ExitCode.USAGE
    assert "is neither a node" in capsys.readouterr().err


@pytest.mark.parametrize("subject", [NODE, "7"])
def test_while_slurmctld_is_down_that_is_the_cause(subject: str) -> None:
    error = "slurm_load_node error: Unable to contact slurm controller (connect failure)\n"
    cause = why(node_cluster(error), subject).cause
    assert cause.says.startswith("slurmctld does not answer")
    assert cause.fix.endswith("slurmpod logs dev.yaml --kind slurm --kind system")


def test_an_interrupt_ends_the_session() -> None:
    cluster = node_cluster()
    ended: list[bool] = []
    sessions = cluster.sessions()
    sessions.end = lambda: ended.append(True)
    cluster.sessions = lambda: sessions  # type: ignore[method-assign]
    cluster.refuse("session", "interrupt")
    with pytest.raises(KeyboardInterrupt):
        why(cluster)
    assert ended


def test_every_state_of_a_job_that_ends_badly_has_a_meaning() -> None:
    ends = ("BOOT_FAIL", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT")
    assert all(meaning_of(state, STATES) for state in ends)
