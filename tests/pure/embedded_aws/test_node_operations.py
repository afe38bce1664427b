"""What the API does to single nodes of a cluster, with a platform that has no machines."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from embedded_aws.cluster import Cluster, ClusterNode, StillAtWork
from embedded_aws.errors import ServiceError
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.sagemaker.api import SageMakerApi
from embedded_aws.sagemaker.clusters import Clusters
from tests.pure.embedded_aws.cloud_fakes import REGION, NoClients
from tests.pure.embedded_aws.cluster_requests import COMPUTE, CONTROLLER, group, request
from tests.pure.embedded_aws.test_clusters import Subnet

NOBODY = "i-0123456789abcdef0"


class Patient(CloudOnlyPlatform):
    """Does nothing to a node until it may."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()

    def reboot(self, cluster: Cluster, node: ClusterNode) -> None:
        self.may_go_on.wait()
        super().reboot(cluster, node)

    def replace(self, cluster: Cluster, node: ClusterNode) -> None:
        self.may_go_on.wait()
        super().replace(cluster, node)


class Service:
    """A cluster in service with a controller and two workers."""

    def __init__(self, **more: object) -> None:
        clients = NoClients()
        clients.ec2 = Subnet()  # type: ignore[attr-defined]
        self.platform = Patient()
        self.clusters = Clusters(
            lambda _region: clients,  # type: ignore[arg-type,return-value]
            self.platform,
            lambda _clients, _event: None,
        )
        self._api = SageMakerApi(
            self.clusters,
            self.platform,
            lambda _region: clients,  # type: ignore[arg-type,return-value]
        )
        head = group("head", SlurmConfig=CONTROLLER)
        workers = group("workers", 2, SlurmConfig=COMPUTE, MinInstanceCount=None)
        self.cluster = self.clusters.create(REGION, request(head, workers, **more))
        self.settle()

    @property
    def controller(self) -> str:
        return self.cluster.members("head")[0].instance_id

    @property
    def workers(self) -> list[str]:
        return [node.instance_id for node in self.cluster.members("workers")]

    def settle(self) -> None:
        """Wait for what runs in the background."""
        self.platform.may_go_on.set()
        for thread in threading.enumerate():
            if thread.name.endswith("-c1"):
                thread.join()

    def do(self, operation: str, **given: object) -> dict[str, Any]:
        return self.call(f"Batch{operation.capitalize()}ClusterNodes", ClusterName="c1", **given)

    def call(self, operation: str, **given: object) -> dict[str, Any]:
        """Ask as the API does: what the model does not allow comes to nobody."""
        return {**(self._api.operations[operation](REGION, given) or {})}

    def add(self, *asked: tuple[str, int], **more: object) -> dict[str, Any]:
        nodes = [{"InstanceGroupName": n, "IncrementTargetCountBy": by} for n, by in asked]
        return self.do("add", NodesToAdd=nodes, **more)


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.settle()


@pytest.fixture
def continuous() -> Service:
    return Service(NodeProvisioningMode="Continuous")


class TestReplaceAndReboot:
    def test_a_replaced_node_is_another_instance_at_its_address(self, service: Service) -> None:
        first, second = service.cluster.members("workers")
        old, address = first.instance_id, first.private_ip
        assert service.do("replace", NodeIds=[old]) == {"Successful": [old]}
        service.settle()
        assert (first.status, first.private_ip) == ("Running", address)
        assert first.instance_id != old
        assert service.workers == [first.instance_id, second.instance_id]

    @pytest.mark.parametrize("operation", ["replace", "reboot"])
    def test_each_node_is_accepted_or_refused_for_itself(
        self, service: Service, operation: str
    ) -> None:
        service.platform.may_go_on.clear()
        first, second = service.workers
        assert service.do(operation, NodeIds=[first])["Successful"] == [first]
        answer = service.do(operation, NodeIds=[first, NOBODY, second, second])
        assert answer["Successful"] == [second]
        assert [(each["NodeId"], each["ErrorCode"]) for each in answer["Failed"]] == [
            (first, "InvalidInstanceStatus"),
            (NOBODY, "InstanceIdNotFound"),
        ]
        assert service.cluster.status == "InService"

    def test_nodes_have_names_that_outlive_their_instances(self, continuous: Service) -> None:
        service = continuous
        node = service.cluster.members("workers")[0]
        answer = service.do("replace", NodeIds=[node.instance_id], NodeLogicalIds=[node.logical_id])
        assert answer["SuccessfulNodeLogicalIds"] == [node.logical_id]
        service.settle()
        answer = service.do("reboot", NodeLogicalIds=[node.logical_id, "nobody"])
        assert answer["FailedNodeLogicalIds"][0]["NodeLogicalId"] == "nobody"

    def test_a_controller_can_be_rebooted_but_not_replaced(self, service: Service) -> None:
        with pytest.raises(ServiceError, match="is a Slurm controller and cannot be replaced"):
            service.do("replace", NodeIds=[*service.workers, service.controller])
        assert all(node.status == "Running" for node in service.cluster.nodes)
        assert service.do("reboot", NodeIds=[service.controller])["Successful"]

    def test_a_cluster_that_changes_keeps_its_nodes_to_itself(self, service: Service) -> None:
        service.cluster.status = "Updating"
        (failure,) = service.do("reboot", NodeIds=service.workers[:1])["Failed"]
        assert failure["ErrorCode"] == "InstanceIdInUse"

    @pytest.mark.parametrize("operation", ["replace", "reboot"])
    def test_such_names_are_for_continuous_provisioning(
        self, service: Service, operation: str
    ) -> None:
        node = service.cluster.members("workers")[0]
        with pytest.raises(ServiceError, match="NodeLogicalIds is only supported") as refused:
            service.do(operation, NodeLogicalIds=[node.logical_id])
        assert (refused.value.code, node.status) == ("ValidationException", "Running")

    @pytest.mark.parametrize("operation", ["replace", "reboot"])
    def test_what_was_accepted_is_done_when_the_node_is_free(
        self, service: Service, operation: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        busy, waited = iter([True, True, False]), []
        do = getattr(service.platform, operation)

        def work(cluster: Cluster, node: ClusterNode) -> None:
            if next(busy):
                raise StillAtWork("Another operation", lambda: waited.append(node))
            do(cluster, node)

        monkeypatch.setattr(service.platform, operation, work)
        node = service.cluster.members("workers")[0]
        service.do(operation, NodeIds=[node.instance_id])
        service.settle()
        assert (node.status, waited) == ("Running", [node, node])

    def test_who_waits_for_an_instance_that_goes_lets_its_successor_be(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = service.cluster.members("workers")[0]
        replace, tries = service.platform.replace, []

        def busy(cluster: Cluster, node: ClusterNode) -> None:
            tries.append(node.instance_id)
            assert len(tries) == 1, "nobody asked for the successor"
            raise StillAtWork("Another operation", lambda: replace(cluster, node))

        monkeypatch.setattr(service.platform, "replace", busy)
        old = node.instance_id
        service.do("replace", NodeIds=[old])
        service.settle()
        assert (node.status, tries) == ("Running", [old])

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ({}, "One of NodeIds and NodeLogicalIds must be provided"),
            ({"NodeIds": ["no-instance"]}, "'no-instance' at 'nodeIds.1.member'"),
            ({"NodeIds": [NOBODY] * 26}, "less than or equal to 25"),
        ],
    )
    def test_a_request_that_makes_no_sense(
        self, service: Service, given: dict[str, object], reason: str
    ) -> None:
        with pytest.raises(ServiceError, match=reason) as refused:
            service.do("replace", **given)
        assert refused.value.code == "ValidationException"


class TestDelete:
    def test_the_group_is_smaller_at_once(self, service: Service) -> None:
        first, second = service.workers
        assert service.do("delete", NodeIds=[first]) == {"Successful": [first]}
        group = service.cluster.group("workers")
        assert (group.instance_count, group.request["InstanceCount"]) == (1, 1)
        service.settle()
        assert service.workers == [second]

    def test_an_update_counts_without_those_that_go(self, service: Service) -> None:
        service.do("delete", NodeIds=service.workers[:1])
        service.settle()
        service.clusters.update(
            REGION,
            {"ClusterName": "c1", "InstanceGroups": [group("workers", 2, SlurmConfig=COMPUTE)]},
        )
        service.settle()
        assert len(service.workers) == 2

    def test_no_controller_and_nobody_twice(self, service: Service) -> None:
        with pytest.raises(ServiceError, match="cannot be deleted"):
            service.do("delete", NodeIds=[service.controller])
        node = service.cluster.members("workers")[0]
        node.status = "ShuttingDown"
        (failure,) = service.do("delete", NodeIds=[node.instance_id])["Failed"]
        assert failure["Code"] == "InvalidNodeStatus"

    @pytest.mark.parametrize(
        ("ids", "logical_ids", "is_allowed"),
        [(51, 0, True), (0, 50, True), (49, 1, True), (0, 51, False), (50, 1, False)],
    )
    def test_how_many_may_be_named(
        self, service: Service, ids: int, logical_ids: int, is_allowed: bool
    ) -> None:
        named = {
            "NodeIds": [f"i-{number:017x}" for number in range(ids)],
            "NodeLogicalIds": [f"node-{number}" for number in range(logical_ids)],
        }
        given = {member: names for member, names in named.items() if names}
        if is_allowed:
            assert "Successful" not in service.do("delete", **given)
            return
        with pytest.raises(ServiceError, match="At most 50 nodes") as refused:
            service.do("delete", **given)
        assert refused.value.code == "ValidationException"


class TestAdd:
    def test_groups_have_their_new_targets(self, continuous: Service) -> None:
        answer = continuous.add(("workers", 2), ("unknown", 3))
        assert continuous.cluster.group("workers").instance_count == 4
        added = continuous.cluster.members("workers")[2:]
        assert [each["NodeLogicalId"] for each in answer["Successful"]] == [
            node.logical_id for node in added
        ]
        (failure,) = answer["Failed"]
        assert (failure["ErrorCode"], failure["FailedCount"]) == ("InstanceGroupNotFound", 3)

    def test_a_retry_adds_nothing(self, continuous: Service) -> None:
        first = continuous.add(("workers", 1), ClientToken="once")
        assert continuous.add(("workers", 1), ClientToken="once") == first
        assert len(continuous.workers) == 3

    def test_a_retry_that_comes_too_early_waits_for_the_first_try(
        self, continuous: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answers: list[dict[str, Any]] = []
        update = continuous.platform.update

        def add() -> None:
            answers.append(continuous.add(("workers", 1), ClientToken="once"))

        retry = threading.Thread(target=add)

        def slow_update(*given: Any) -> None:
            retry.start()
            retry.join(timeout=0.2)  # for as long, unless it has an answer of its own
            update(*given)

        monkeypatch.setattr(continuous.platform, "update", slow_update)
        add()
        retry.join()
        assert answers[0] == answers[1]
        assert len(continuous.workers) == 3

    @pytest.mark.parametrize(
        ("asked", "reason"),
        [
            ([("workers", 30), ("workers", 21)], "At most 50 nodes"),
            ([("head", 1)], "the Slurm controller's and cannot grow"),
            ([], "less than or equal|greater than or equal"),
        ],
    )
    def test_refusals(self, continuous: Service, asked: list[tuple[str, int]], reason: str) -> None:
        with pytest.raises(ServiceError, match=reason):
            continuous.add(*asked)

    def test_only_where_nodes_are_provisioned_continuously(self, service: Service) -> None:
        with pytest.raises(ServiceError, match="only supported for clusters using Continuous"):
            service.add(("workers", 1))

    def test_not_while_the_cluster_changes(self, continuous: Service) -> None:
        continuous.cluster.status = "SystemUpdating"
        (failure,) = continuous.add(("workers", 1))["Failed"]
        assert failure["ErrorCode"] == "InvalidInstanceGroupStatus"
