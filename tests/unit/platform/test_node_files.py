import json
from datetime import UTC, datetime

from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode, InstanceGroup, VpcConfig
from slurmpod.rehearsal.platform.node_files import resource_config

NETWORK = VpcConfig(("sg-1",), ("subnet-1",))


def group(name: str, count: int) -> InstanceGroup:
    return InstanceGroup(
        name=name,
        instance_type="ml.m5.large",
        instance_count=count,
        execution_role_arn="arn:aws:iam::123456789012:role/r",
        threads_per_core=None,
        lifecycle=None,
        vpc_config=NETWORK,
        request={},
    )


def node(group_name: str, address: str) -> ClusterNode:
    return ClusterNode(
        instance_id=f"i-{address}",
        group=group_name,
        instance_type="ml.m5.large",
        private_ip=address,
        private_dns_hostname="",
        launched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_resource_config_has_every_group_with_its_instances_numbered_from_one() -> None:
    cluster = Cluster(
        name="demo",
        arn="arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
        id="abcdefghijkl",
        groups=(group("head", 1), group("cpu", 2), group("later", 0)),
        vpc_config=NETWORK,
        network=None,  # type: ignore[arg-type]  # not used for files
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        request={},
        nodes=[node("head", "10.0.0.4"), node("cpu", "10.0.0.5"), node("cpu", "10.0.0.6")],
    )
    document = json.loads(resource_config(cluster))
    assert document["ClusterConfig"]["ClusterArn"] == cluster.arn
    head, cpu, later = document["InstanceGroups"]
    assert head["Instances"][0]["CustomerIpAddress"] == "10.0.0.4"
    assert [instance["InstanceName"] for instance in cpu["Instances"]] == ["cpu-1", "cpu-2"]
    assert later["Instances"] is None
