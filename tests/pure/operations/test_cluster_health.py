"""What HyperPod works at and says of Slurm's accounting, in `status` and `why`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from slurmpod.aws.cluster_operations import ClusterOperations, DaemonHealth, SlurmReport
from slurmpod.operations.cluster_health import troubles
from slurmpod.operations.status import status_of
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.cluster_at_work import BEGAN, NOW, Cluster
from tests.pure.operations.test_status import line, screen
from tests.pure.operations.test_why import HAD, NODE, job_cluster, node_cluster, why
from tests.sound_environment import SOUND

CHECK = {
    "OperationId": "1",
    "Type": "DeepHealthCheck",
    "Status": "InProgress",
    "CreationTime": NOW,
    "DeepHealthCheckDetails": [
        {
            "InstanceGroupName": "workers",
            "InstanceIds": ["i-3", "i-4"],
            "DeepHealthChecks": ["InstanceStress"],
        }
    ],
}
GROWTH = {
    "OperationId": "2",
    "Type": "Scaling",
    "Status": "InProgress",
    "CreationTime": NOW,
    "ScalingDetails": [
        {
            "InstanceGroupName": "workers",
            "Original": {"TargetCount": 2},
            "Desired": {"TargetCount": 4},
        }
    ],
}


def event(minutes: int = 0, description: str = "slurmdbd", **metadata: Any) -> dict[str, Any]:
    return {
        "EventId": f"e{minutes}",
        "EventTime": NOW - timedelta(minutes=minutes),
        "Description": description,
        "EventDetails": {"EventMetadata": metadata},
    }


def daemon(minutes: int = 0, reason: str = "") -> dict[str, Any]:
    status = {"Status": "Unhealthy", "Reason": reason} if reason else {"Status": "Healthy"}
    return event(minutes, SlurmHealth={"Component": "Slurmdbd", **status})


@pytest.fixture(scope="module")
def resolved() -> Resolved:
    return resolve(read_as("dev.yaml", SOUND))


def shown(cluster: Cluster, resolved: Resolved) -> list[str]:
    return screen(status_of(cluster.sources(), resolved, NOW))


def operations(cluster: Cluster) -> ClusterOperations:
    return ClusterOperations(cluster.clients(), "dev")


class TestStatus:
    def test_it_shows_what_is_under_way(self, resolved: Resolved) -> None:
        cluster = Cluster()
        cluster.operations = [CHECK, GROWTH, {**GROWTH, "OperationId": "3", "Status": "Done"}]
        page = shown(cluster, resolved)
        assert line(page, "deep health check") == (
            "under way deep health check of 2 nodes of workers (InstanceStress), "
            "since 2026-11-23 22:00 UTC"
        )
        assert line(page, "resizing") == (
            "resizing workers (2 -> 4 nodes), since 2026-11-23 22:00 UTC"
        )

    def test_a_quiet_cluster_takes_no_line(self, resolved: Resolved) -> None:
        page = "\n".join(shown(Cluster(), resolved))
        assert "under way" not in page
        assert "accounting" not in page

    def test_it_shows_that_records_are_not_written(self, resolved: Resolved) -> None:
        cluster = Cluster()
        cluster.events = [daemon(3, "DaemonDown")]
        assert line(shown(cluster, resolved), "slurmdbd") == (
            "accounting slurmdbd is not running: job records are not written, "
            "since 2026-11-23 21:57 UTC"
        )

    @pytest.mark.parametrize(
        ("operation", "part"),
        [("list_cluster_operations", "under way"), ("list_cluster_events", "accounting")],
    )
    def test_what_may_not_be_asked_is_unknown(
        self, resolved: Resolved, operation: str, part: str
    ) -> None:
        page = shown(Cluster(refused={operation: "AccessDeniedException"}), resolved)
        assert line(page, part).startswith(f"{part} unknown: cannot list the")


OBSERVED = f"{SOUND}monitoring: {{observability: {{}}}}\n"
EXTENSION = {
    "ExtensionDetails": {
        "ExtensionName": "sagemaker-observability",
        "ExtensionVersion": "1.0.0",
        "Status": "Degraded",
    },
    "NodeSummary": {"TotalCount": 4, "ActiveCount": 3},
    "Health": {"Issues": [{"Code": "AccessDenied", "Message": "no", "NodeCount": 1}]},
}


class TestCollector:
    def test_its_health_is_shown_where_the_environment_wants_it(self) -> None:
        cluster = Cluster()
        cluster.extensions = [EXTENSION]
        page = shown(cluster, resolve(read_as("dev.yaml", OBSERVED)))
        assert line(page, "collector") == (
            "collector sagemaker-observability 1.0.0: Degraded, on 3 of 4 nodes"
        )
        assert line(page, "AccessDenied") == "AccessDenied on 1 nodes: no"

    def test_others_are_not_asked(self, resolved: Resolved) -> None:
        cluster = Cluster()
        shown(cluster, resolved)
        assert cluster.asked["list_cluster_extensions"] == 0

    def test_one_that_may_not_be_asked_is_unknown(self) -> None:
        cluster = Cluster(refused={"list_cluster_extensions": "AccessDeniedException"})
        page = shown(cluster, resolve(read_as("dev.yaml", OBSERVED)))
        assert line(page, "collector").startswith("collector unknown: cannot list the extensions")


class TestAccounting:
    def test_the_newest_word_counts(self) -> None:
        cluster = Cluster()
        cluster.events = [daemon(1), daemon(5, "DbUnreachable")]
        assert list(troubles(operations(cluster).slurm())) == []
        assert cluster.asked["describe_cluster_event"] == 2

    def test_events_of_the_clusters_life_are_not_described(self) -> None:
        cluster = Cluster()
        cluster.events = [event(1, "Cluster dev update completed successfully")]
        assert operations(cluster).slurm() == SlurmReport()
        assert cluster.asked["describe_cluster_event"] == 0

    def test_a_cluster_without_events_has_no_word(self) -> None:
        cluster = Cluster(refused={"list_cluster_events": "Continuous only"})
        assert operations(cluster).slurm() == SlurmReport()

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({}, None),
            ({"Advisory": "restart slurmctld"}, "was changed: restart slurmctld"),
            (
                {"RollbackStatus": "Reverted", "FailureMessage": "no such host"},
                "failed: no such host; the former database is in use again",
            ),
            (
                {"RollbackStatus": "RevertFailed", "FailureMessage": "x"},
                "failed: x; the former database is not in use again: accounting may not work",
            ),
        ],
    )
    def test_a_change_of_the_database_is_told(
        self, change: dict[str, str], text: str | None
    ) -> None:
        cluster = Cluster()
        cluster.events = [event(DatabaseConfiguration=change)]
        found = [said for _, said in troubles(operations(cluster).slurm())]
        assert found == [] if text is None else found[0].endswith(text)

    def test_a_reason_of_tomorrow_is_shown_as_it_is(self) -> None:
        report = SlurmReport(DaemonHealth(BEGAN, "slurmdbd", "Unhealthy", "DaemonOnFire"))
        assert list(troubles(report)) == [(BEGAN, "slurmdbd DaemonOnFire")]


class TestWhy:
    def test_a_node_that_is_checked_is_not_to_be_mended(self) -> None:
        cluster = node_cluster(f"NodeName={NODE} State=IDLE+RESERVED\n")
        cluster.nodes = [
            (group, id_, address, "DeepHealthCheckInProgress" if id_ == "i-3" else status, "")
            for group, id_, address, status, _ in cluster.nodes
        ]
        cluster.answers_of["i-0"] |= {"slurmctld": "", "records": "", "jobs": ""}
        cluster.operations = [CHECK]
        cause = why(cluster).cause
        assert cause.says.startswith("HyperPod checks its hardware")
        assert cause.fix.endswith(f"slurmpod node check dev.yaml {NODE}")

    def test_checks_of_other_nodes_are_none_of_its_story(self) -> None:
        cluster = node_cluster()
        cluster.operations = [{**CHECK, "DeepHealthCheckDetails": [
            {**CHECK["DeepHealthCheckDetails"][0], "InstanceIds": ["i-4"]}  # type: ignore[index]
        ]}]  # fmt: skip
        assert not [each for each in why(cluster).moments if "deep health" in each.text]

    def test_operations_that_may_not_be_asked_are_named(self) -> None:
        cluster = node_cluster()
        cluster.refuse("list_cluster_operations", "AccessDeniedException")
        assert "AccessDeniedException" in why(cluster).unread["operations"]

    def test_a_job_without_records_is_explained_by_slurmdbd(self) -> None:
        cluster = job_cluster("")
        cluster.answers_of["i-0"] = {"zone": "+0000\n"}
        cluster.events = [daemon(3, "DaemonDown")]
        assert why(cluster, "7").cause.says.startswith("Slurm's accounting does not work")

    def test_a_job_that_failed_by_itself_is_not(self) -> None:
        cluster = job_cluster("FAILED", "NonZeroExitCode", f"ExitCode=3:0 {HAD}")
        cluster.events = [daemon(3, "DaemonDown")]
        story = why(cluster, "7")
        assert story.cause.says == "its script ended with status 3"
        assert [each.text for each in story.moments if each.source == "SageMaker"] == [
            "slurmdbd is not running: job records are not written"
        ]
