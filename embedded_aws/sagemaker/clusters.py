"""The clusters of the account, from CreateCluster to DeleteCluster.

The platform works in background threads, so that API calls do not wait for machines to boot.
"""

from __future__ import annotations

import logging
import string
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.cluster import (
    Cluster,
    ClusterFailed,
    ClusterNetwork,
    InstanceGroup,
    NodeType,
    SoftwareUpdate,
    with_image,
)
from embedded_aws.errors import ServiceError
from embedded_aws.event_delivery import deliver
from embedded_aws.ids import ids
from embedded_aws.interface import NO_INSTANCE_TYPES, ClusterPlatform, InstanceTypes
from embedded_aws.sagemaker.events import (
    cluster_begins,
    cluster_ends,
    group_scales,
    record,
    state_change,
)
from embedded_aws.sagemaker.network import SubnetInterfaces, check_network
from embedded_aws.sagemaker.operations import begin_scaling, end
from embedded_aws.sagemaker.requests import (
    check_request,
    read_groups,
    read_settings,
    read_software_update,
    read_vpc_config,
    updated_request,
)
from embedded_aws.sagemaker.training_plans import TrainingPlans

Send = Callable[[Clients, Mapping[str, Any]], None]

_log = logging.getLogger(__name__)


class Clusters:
    """All clusters by Region. Every public method does its own locking."""

    def __init__(
        self,
        clients: Callable[[str], Clients],
        platform: ClusterPlatform,
        send: Send = deliver,
        instance_types: InstanceTypes = NO_INSTANCE_TYPES,
    ) -> None:
        self._clients = clients
        self._platform = platform
        self.instance_types = instance_types
        """Facts used to check requests."""
        self._send = send
        self.plans = TrainingPlans(platform.ends_plan)
        self.lock = threading.RLock()
        """Hold it to make a decision based on a cluster's state."""
        self._by_region: dict[str, list[Cluster]] = {}
        self._networks: dict[str, SubnetInterfaces] = {}
        self._updating: set[str] = set()

    def create(self, region: str, request: Mapping[str, Any]) -> Cluster:
        """Start the creation of a cluster; raises ValidationException and ResourceInUse."""
        check_request(request, self.instance_types)
        aws = self._clients(region)
        check_network(aws, request)
        self.plans.check(aws, request, self.used_of_plans(region))
        with self.lock:
            if any(c.name == request["ClusterName"] for c in self.all(region)):
                raise ServiceError(
                    "ResourceInUse", f"Cluster with name {request['ClusterName']} already exists"
                )
            network = SubnetInterfaces(aws, request["ClusterName"])
            cluster = new_cluster(aws, request, network)
            cluster.tell = lambda event: _tell(self._send, aws, event)
            cluster.has_ended = lambda arn: self.plans.find(region, arn).has_ended
            self._networks[cluster.arn] = network
            self._by_region.setdefault(region, []).append(cluster)
        self._tell_status(cluster)
        in_background(f"create-{cluster.name}", lambda: self._create(cluster))
        return cluster

    def all(self, region: str) -> list[Cluster]:
        """Return all clusters of a region, oldest first."""
        with self.lock:
            return list(self._by_region.get(region, []))

    def find(self, region: str, name_or_arn: str) -> Cluster:
        """Return a cluster by name or ARN; raises ResourceNotFound."""
        for cluster in self.all(region):
            if name_or_arn in (cluster.name, cluster.arn):
                return cluster
        raise ServiceError("ResourceNotFound", f"Cluster with name {name_or_arn} does not exist")

    def used_of_plans(self, region: str, besides: Cluster | None = None) -> Counter[str]:
        """Return the number of instances that clusters use or request, by training plan."""
        used: Counter[str] = Counter()
        for cluster in self.all(region):
            for group in cluster.groups if cluster is not besides else ():
                if "TrainingPlanArn" in group.request:
                    used[group.request["TrainingPlanArn"]] += group.instance_count
        return used

    def update(self, region: str, update: Mapping[str, Any]) -> Cluster:
        """Start the update of a cluster; raises ValidationException and ConflictException.

        A continuously provisioned cluster stays in service meanwhile, and already has its new
        targets when this returns.
        """
        with self.lock:
            cluster = self._at_rest(region, update["ClusterName"])
            request = updated_request(_current_request(cluster), update, self.instance_types)
            check_network(self._clients(region), request)
            others = self.used_of_plans(region, besides=cluster)
            self.plans.check(self._clients(region), request, others)
            self._begin(cluster, "InService" if cluster.settings.is_continuous else "Updating")
        if cluster.settings.is_continuous:
            self._update(cluster, request)
        else:
            self._tell_status(cluster)
            in_background(f"update-{cluster.name}", lambda: self._update(cluster, request))
        return cluster

    def is_at_rest(self, cluster: Cluster) -> bool:
        """Return whether a cluster is in service without an operation on the whole cluster."""
        return cluster.status == "InService" and cluster.arn not in self._updating

    def update_software(self, region: str, given: Mapping[str, Any]) -> Cluster:
        """Start a software update of nodes; raises ConflictException and ValidationException."""
        with self.lock:
            cluster = self._at_rest(region, given["ClusterName"])
            update = read_software_update(cluster, given)
            self._begin(cluster, "SystemUpdating")
        self._tell_status(cluster)
        image = given.get("ImageId")
        in_background(
            f"update-{cluster.name}",
            lambda: self._change(
                cluster, "software update", lambda: self._renew(cluster, update, image)
            ),
        )
        return cluster

    def delete(self, region: str, name_or_arn: str) -> Cluster:
        """Start the deletion of a cluster; raises ConflictException while it is being created."""
        with self.lock:
            cluster = self.find(region, name_or_arn)
            if cluster.status != "Failed" and not self.is_at_rest(cluster):
                raise _conflict(cluster, "deleted")
            cluster.status = "Deleting"
        self._tell_status(cluster)
        in_background(f"delete-{cluster.name}", lambda: self._delete(region, cluster))
        return cluster

    def _create(self, cluster: Cluster) -> None:
        record(cluster, cluster_begins(cluster, "creation"))
        try:
            self._platform.create(cluster)
        except Exception as error:  # noqa: BLE001 - a thread's last resort
            _fail(cluster, reason(error, f"creation of cluster {cluster.name}"))
        else:
            cluster.status = "InService"
        record(cluster, cluster_ends(cluster, "creation", cluster.failure_message or None))
        self._tell_status(cluster)

    def _at_rest(self, region: str, name_or_arn: str) -> Cluster:
        cluster = self.find(region, name_or_arn)
        if not self.is_at_rest(cluster):
            raise _conflict(cluster, "updated")
        return cluster

    def _begin(self, cluster: Cluster, status: str) -> None:
        """Start an operation on the whole cluster, and block others until it ends."""
        self._updating.add(cluster.arn)
        cluster.failure_message, cluster.status = "", status

    def _update(self, cluster: Cluster, request: Mapping[str, Any]) -> None:
        old_settings = cluster.settings
        cluster.settings = read_settings(request, cluster.id)
        desired = read_groups(request)

        def update() -> None:
            operation = begin_scaling(cluster, cluster.groups, desired)
            for group in _resized(cluster, desired):
                record(cluster, group_scales(cluster, group, operation))
            try:
                self._platform.update(cluster, desired)
            except BaseException:
                cluster.settings = old_settings
                raise
            finally:
                end(operation)
            cluster.request = request

        self._change(cluster, "update", update)

    def _renew(self, cluster: Cluster, update: SoftwareUpdate, image: str | None) -> None:
        """Update the software of nodes, and their image if one is given; on failure, roll back."""
        old_groups, old_images = cluster.groups, [(n, n.image_id) for n in cluster.nodes]
        if image is not None:
            cluster.groups = tuple(
                with_image(group, image) if group.name in update.groups else group
                for group in cluster.groups
            )
        try:
            self._platform.update_software(cluster, update)
        except BaseException:
            cluster.groups = old_groups
            for node, old_image in old_images:
                node.image_id = old_image
            raise

    def _change(self, cluster: Cluster, operation: str, make: Callable[[], None]) -> None:
        """Run a started operation; the cluster is in service afterwards, even if it fails."""
        record(cluster, cluster_begins(cluster, operation))
        try:
            make()
        except Exception as error:  # noqa: BLE001 - a thread's last resort
            cluster.failure_message = reason(error, f"{operation} of cluster {cluster.name}")
        with self.lock:
            self._updating.remove(cluster.arn)
            cluster.status = "InService"
        record(cluster, cluster_ends(cluster, operation, cluster.failure_message or None))
        self._tell_status(cluster)

    def _delete(self, region: str, cluster: Cluster) -> None:
        record(cluster, cluster_begins(cluster, "deletion"))
        try:
            self._platform.delete(cluster)
            self._networks[cluster.arn].delete_all()
        except Exception as error:  # noqa: BLE001 - a thread's last resort
            _fail(cluster, reason(error, f"deletion of cluster {cluster.name}"))
            self._tell_status(cluster)
            return
        with self.lock:
            self._by_region[region].remove(cluster)

    def _tell_status(self, cluster: Cluster) -> None:
        """Send the status to EventBridge, without the lock, which receivers may need."""
        cluster.tell(state_change(cluster))


def _current_request(cluster: Cluster) -> dict[str, Any]:
    """Return the request for the current cluster, whose groups the platform may have changed."""
    return {**cluster.request, "InstanceGroups": [dict(group.request) for group in cluster.groups]}


def _resized(cluster: Cluster, desired: Iterable[InstanceGroup]) -> Iterator[InstanceGroup]:
    counts = {group.name: group.instance_count for group in cluster.groups}
    return (group for group in desired if group.instance_count != counts.get(group.name, 0))


def _fail(cluster: Cluster, message: str) -> None:
    cluster.failure_message = message
    cluster.status = "Failed"


def _conflict(cluster: Cluster, participle: str) -> ServiceError:
    status = "Updating" if cluster.status == "InService" else cluster.status
    return ServiceError(
        "ConflictException",
        f"Cluster {cluster.name} is in {status} status and cannot be {participle}",
    )


def _tell(send: Send, aws: Clients, event: Mapping[str, Any]) -> None:
    """Send an event; a failure does not affect the cluster."""
    try:
        send(aws, event)
    except Exception:  # noqa: BLE001 - whatever it is, the cluster comes first
        _log.exception("the event %s could not be delivered", event["detail-type"])


_ID_LENGTH = 12


def new_cluster(aws: Clients, request: Mapping[str, Any], network: ClusterNetwork) -> Cluster:
    """Return the cluster for a checked request; it has no nodes yet."""
    alphabet = string.ascii_lowercase + string.digits
    cluster_id = ids.text("cluster", _ID_LENGTH, alphabet)
    groups = read_groups(request)
    return Cluster(
        name=request["ClusterName"],
        arn=f"arn:{aws.partition}:sagemaker:{aws.region}:{aws.account}:cluster/{cluster_id}",
        id=cluster_id,
        groups=groups,
        settings=read_settings(request, cluster_id),
        vpc_config=read_vpc_config(request["VpcConfig"]),
        network=network,
        created_at=datetime.now(UTC),
        request=request,
        tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
        controller_group=_controller_group(groups),
    )


def _controller_group(groups: Iterable[InstanceGroup]) -> str:
    """Return the controllers' group if the request defines it; otherwise a script file does."""
    roles = {group.slurm.node_type: group.name for group in groups if group.slurm}
    return roles.get(NodeType.CONTROLLER, "")


def in_background(name: str, work: Callable[[], None]) -> None:
    """Run the work in a background thread, so that API calls do not wait for it."""
    threading.Thread(target=work, name=name, daemon=True).start()


def reason(error: Exception, while_doing: str) -> str:
    """Return the text for FailureMessage; errors other than ClusterFailed are logged as bugs."""
    if isinstance(error, ClusterFailed):
        return str(error)
    _log.error("internal error during the %s", while_doing, exc_info=error)
    return f"Internal error of the rehearsal: {error!r}"
