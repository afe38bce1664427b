"""Clusters and groups for tests of the platform."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from embedded_aws.cluster import (
    Cluster,
    ClusterNode,
    ClusterSettings,
    InstanceGroup,
    LifeCycleConfig,
    NodeType,
    SlurmConfig,
    VpcConfig,
)

NETWORK = VpcConfig(("sg-1",), ("subnet-1",))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ON_CREATE = LifeCycleConfig("s3://sagemaker-x/v1", "on_create.sh", None)
ON_INIT_COMPLETE = LifeCycleConfig("s3://sagemaker-x/v1", None, "extend.sh")


def group(name: str, count: int = 1, **more: Any) -> InstanceGroup:
    """Return a group of small machines, without scripts unless they are given."""
    return InstanceGroup(
        **{
            "name": name,
            "instance_type": "ml.m5.large",
            "instance_count": count,
            "execution_role_arn": "arn:aws:iam::123456789012:role/r",
            "threads_per_core": None,
            "lifecycle": None,
            "vpc_config": NETWORK,
            "request": {},
            **more,
        }
    )


def slurm(node_type: str, partition: str | None = None) -> SlurmConfig:
    """Return a place in Slurm."""
    return SlurmConfig(NodeType(node_type), partition)


def node(group_name: str, address: str) -> ClusterNode:
    """Return a node that has an address."""
    return ClusterNode(
        instance_id=f"i-{address}",
        group=group_name,
        instance_type="ml.m5.large",
        private_ip=address,
        private_dns_hostname="",
        launched_at=NOW,
    )


def cluster(*groups: InstanceGroup, nodes: list[ClusterNode] | None = None) -> Cluster:
    """Return a cluster that has these groups and nodes."""
    return Cluster(
        name="demo",
        arn="arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
        id="abcdefghijkl",
        groups=groups,
        settings=ClusterSettings(is_continuous=False, strategy="Merge", accounting_database=None),
        vpc_config=NETWORK,
        network=None,  # type: ignore[arg-type]  # no test here needs addresses
        created_at=NOW,
        request={},
        nodes=nodes or [],
    )
