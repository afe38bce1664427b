"""The clusters of the account, and their way from CreateCluster to DeleteCluster.

The platform works in threads of its own, so that an API call never waits for a machine.
"""

from __future__ import annotations

import logging
import secrets
import string
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.platform import Cluster, ClusterFailed, ClusterPlatform
from slurmpod.rehearsal.cloud.sagemaker.network import SubnetInterfaces
from slurmpod.rehearsal.cloud.sagemaker.requests import (
    check_request,
    read_groups,
    read_vpc_config,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmpod.rehearsal.cloud.clients import Clients

_ID_LENGTH = 12
_log = logging.getLogger(__name__)


class Clusters:
    """All clusters by region. Every public method locks for itself."""

    def __init__(self, clients: Callable[[str], Clients], platform: ClusterPlatform) -> None:
        self._clients = clients
        self._platform = platform
        self._lock = threading.RLock()
        self._by_region: dict[str, list[Cluster]] = {}
        self._networks: dict[str, SubnetInterfaces] = {}

    def create(self, region: str, request: Mapping[str, Any]) -> Cluster:
        """Begin the creation of a cluster; raises ValidationException and ResourceInUse."""
        check_request(request)
        aws = self._clients(region)
        _check_network(aws, request)
        with self._lock:
            if any(c.name == request["ClusterName"] for c in self.all(region)):
                raise ServiceError(
                    "ResourceInUse", f"Cluster with name {request['ClusterName']} already exists"
                )
            network = SubnetInterfaces(aws, request["ClusterName"])
            cluster = _new_cluster(aws, request, network)
            self._networks[cluster.arn] = network
            self._by_region.setdefault(region, []).append(cluster)
        _in_background(f"create-{cluster.name}", lambda: self._create(cluster))
        return cluster

    def all(self, region: str) -> list[Cluster]:
        """Return all clusters of a region, oldest first."""
        with self._lock:
            return list(self._by_region.get(region, []))

    def find(self, region: str, name_or_arn: str) -> Cluster:
        """Return a cluster by name or ARN; raises ResourceNotFound."""
        for cluster in self.all(region):
            if name_or_arn in (cluster.name, cluster.arn):
                return cluster
        raise ServiceError("ResourceNotFound", f"Cluster with name {name_or_arn} does not exist")

    def delete(self, region: str, name_or_arn: str) -> Cluster:
        """Begin the deletion of a cluster; raises ConflictException while it is being created."""
        with self._lock:
            cluster = self.find(region, name_or_arn)
            if cluster.status in ("Creating", "Deleting"):
                raise ServiceError(
                    "ConflictException",
                    f"Cluster {cluster.name} is in {cluster.status} status and cannot be deleted",
                )
            cluster.status = "Deleting"
        _in_background(f"delete-{cluster.name}", lambda: self._delete(region, cluster))
        return cluster

    def _create(self, cluster: Cluster) -> None:
        try:
            self._platform.create(cluster)
        except ClusterFailed as failure:
            self._fail(cluster, str(failure))
        except Exception as error:  # noqa: BLE001 - a thread's last resort
            _log.exception("internal error while creating cluster %s", cluster.name)
            self._fail(cluster, f"Internal error of the rehearsal: {error!r}")
        else:
            cluster.status = "InService"

    def _delete(self, region: str, cluster: Cluster) -> None:
        try:
            self._platform.delete(cluster)
            self._networks[cluster.arn].delete_all()
        except Exception as error:  # noqa: BLE001 - a thread's last resort
            _log.exception("internal error while deleting cluster %s", cluster.name)
            self._fail(cluster, f"Internal error of the rehearsal: {error!r}")
            return
        with self._lock:
            self._by_region[region].remove(cluster)

    def _fail(self, cluster: Cluster, message: str) -> None:
        cluster.failure_message = message
        cluster.status = "Failed"


def _check_network(aws: Clients, request: Mapping[str, Any]) -> None:
    """Look up every subnet and security group; EC2's own error says which does not exist."""
    configs = [group.get("OverrideVpcConfig") for group in request["InstanceGroups"]]
    for config in filter(None, (request["VpcConfig"], *configs)):
        aws.ec2.describe_subnets(SubnetIds=config["Subnets"])
        aws.ec2.describe_security_groups(GroupIds=config["SecurityGroupIds"])


def _new_cluster(aws: Clients, request: Mapping[str, Any], network: SubnetInterfaces) -> Cluster:
    alphabet = string.ascii_lowercase + string.digits
    cluster_id = "".join(secrets.choice(alphabet) for _ in range(_ID_LENGTH))
    return Cluster(
        name=request["ClusterName"],
        arn=f"arn:{aws.partition}:sagemaker:{aws.region}:{aws.account}:cluster/{cluster_id}",
        id=cluster_id,
        groups=read_groups(request),
        vpc_config=read_vpc_config(request["VpcConfig"]),
        network=network,
        created_at=datetime.now(UTC),
        request=request,
        tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
    )


def _in_background(name: str, work: Callable[[], None]) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()
