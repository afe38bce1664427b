"""Network interfaces attached to single nodes. Volumes are for clusters with EKS only.

Source: API reference, AttachClusterNodeNetworkInterface, AttachClusterNodeVolume. The maximum
number of interfaces is not checked; EC2 shows an attached one as available.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from embedded_aws.clients import Clients
from embedded_aws.cluster import ClusterNode
from embedded_aws.errors import ServiceError
from embedded_aws.ids import ids
from embedded_aws.sagemaker.clusters import Clusters

Shape = dict[str, Any]


class Attachments:
    """The interfaces that users have attached; each at most once."""

    def __init__(self, clusters: Clusters, clients: Callable[[str], Clients]) -> None:
        self._clusters = clusters
        self._clients = clients
        self._lock = threading.Lock()
        self._nodes: dict[str, str] = {}
        """The instance of each interface, by interface id."""

    def attach_interface(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer AttachClusterNodeNetworkInterface; raises ResourceNotFound or a refusal."""
        cluster = self._clusters.find(region, given["ClusterName"])
        node = _node(cluster.nodes, given["NodeId"])
        interface_id = given["NetworkInterfaceId"]
        (interface,) = self._clients(region).ec2.describe_network_interfaces(
            NetworkInterfaceIds=[interface_id]
        )["NetworkInterfaces"]
        own = {each.interface.interface_id for each in cluster.nodes if each.interface}
        with self._lock:
            if interface_id in own | self._nodes.keys():
                raise _refusal(f"Network interface {interface_id} is in use")
            here = node.interface.availability_zone if node.interface else None
            if here not in (None, interface["AvailabilityZone"]):
                raise _refusal(
                    f"Network interface {interface_id} is in {interface['AvailabilityZone']}, the "
                    f"node in {here}"
                )
            self._nodes[interface_id] = node.instance_id
        return {
            "ClusterArn": cluster.arn,
            "NodeId": node.instance_id,
            "NetworkInterfaceId": interface_id,
            "AttachmentId": ids.prefixed("eni-attach"),
        }

    def refuse_volume(self, region: str, given: Mapping[str, Any]) -> NoReturn:
        """Answer AttachClusterNodeVolume and DetachClusterNodeVolume."""
        cluster = self._clusters.find(region, given["ClusterArn"])
        raise _refusal(
            f"Cluster {cluster.name} is orchestrated by Slurm: volumes are attached to nodes of "
            "clusters with EKS only. InstanceStorageConfigs give a group's nodes volumes of theirs"
        )


def _node(nodes: list[ClusterNode], node_id: str) -> ClusterNode:
    for node in list(nodes):
        if node.instance_id == node_id:
            return node
    raise ServiceError("ResourceNotFound", f"Instance {node_id} does not exist in the cluster")


def _refusal(message: str) -> ServiceError:
    return ServiceError("ValidationException", message)
