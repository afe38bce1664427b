import json

from slurmpod.rehearsal.hyperpod.node_files import resource_config
from tests.pure.hyperpod.clusters import cluster, group, node

HEADS = [node("head", "10.0.0.4"), node("head", "10.0.0.7")]


def test_resource_config_has_every_group_with_its_instances_numbered_from_one() -> None:
    demo = cluster(
        group("head"),
        group("cpu", 2),
        group("later", 0),
        nodes=[HEADS[0], node("cpu", "10.0.0.5"), node("cpu", "10.0.0.6")],
    )
    document = json.loads(resource_config(demo, HEADS[:1]))
    assert document["ClusterConfig"]["ClusterArn"] == demo.arn
    head, cpu, later = document["InstanceGroups"]
    assert head["Instances"][0]["CustomerIpAddress"] == "10.0.0.4"
    assert [instance["InstanceName"] for instance in cpu["Instances"]] == ["cpu-1", "cpu-2"]
    assert later["Instances"] is None


def test_resource_config_tells_the_controllers_apart() -> None:
    document = json.loads(resource_config(cluster(group("head", 2), nodes=HEADS), HEADS))
    assert document["ClusterConfig"]["SlurmConfig"] == {
        "PrimaryControllerIp": "10.0.0.4",
        "SecondaryControllerIps": ["10.0.0.7"],
    }
