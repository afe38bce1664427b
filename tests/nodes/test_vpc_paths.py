"""Nodes lose traffic that security groups stop, as on AWS; a rehearsal names the missing rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.conftest import Workplace
from tests.nodes.hyperpod_lab import HyperPodLab, group, storage_of, succeeds

CONNECTS = ("nc", "-zw", "2")
OWN_FILES = """\
name: own
account: "123456789012"
region: us-west-2
network:
  zone: usw2-az2
  existing:
    vpc_id: vpc-0a1b2c3d4e5f60718
    subnets:
      - {id: subnet-0a1b2c3d4e5f60718, zone: usw2-az2, cidr: 10.7.0.0/20}
storage:
  lustre:
    existing: {id: fs-0a1b2c3d4e5f60718, mount_name: abcdefgh}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: cpu, role: worker, instance_type: ml.m5.xlarge, partition: cpu}
"""
"""A file system in a separate group, and a new group for the nodes, without any inbound rule."""


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        yield lab


@pytest.fixture(scope="module")
def files(lab: HyperPodLab) -> Any:
    """A Lustre file system in a separate group, which admits no other."""
    other = make_group(lab, "files")
    let(lab, other, other)
    return lab.make_lustre(replace(lab.network, security_group=other))


def make_group(lab: HyperPodLab, name: str) -> str:
    vpc = lab.aws.ec2.describe_subnets(SubnetIds=[lab.network.subnet])["Subnets"][0]["VpcId"]
    made = lab.aws.ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)
    return made["GroupId"]


def let(lab: HyperPodLab, group_id: str, peer: str, *ports: int) -> None:
    """Admit a peer to a group, at all ports by default."""
    pair = {"UserIdGroupPairs": [{"GroupId": peer}]}
    rules: list[Any] = [
        {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **pair} for port in ports
    ]
    lab.aws.ec2.authorize_security_group_ingress(
        GroupId=group_id, IpPermissions=rules or [{"IpProtocol": "-1", **pair}]
    )


def groups_with(files: Any, **more: Any) -> list[dict[str, Any]]:
    common: dict[str, Any] = {"InstanceStorageConfigs": [storage_of(files)], **more}
    return [group("head", "Controller", **common), group("cpu", "Compute", **common)]


def test_a_mount_that_a_security_group_stops_fails_the_cluster_and_names_the_rule(
    lab: HyperPodLab, files: Any
) -> None:
    cluster = lab.create("stopped", groups_with(files))
    lab.delete("stopped")
    assert cluster["ClusterStatus"] == "Failed"
    message = cluster["FailureMessage"]
    assert "Connection timed out" in message
    assert message.count(f"does not reach {files['FileSystemId']} at tcp 988: sg-") == 1
    assert (
        f"has no inbound rule for tcp 988 from 10.0.1.4 ({lab.network.security_group})" in message
    )


def test_scripts_that_name_what_is_stopped_are_not_waited_for(lab: HyperPodLab, files: Any) -> None:
    script = f"#!/bin/sh\nuntil mount -t lustre {files['DNSName']}@tcp:/x /mnt; do sleep 1; done\n"
    scripts = {
        "SourceS3Uri": lab.upload("waiting", {"wait.sh": script}),
        "OnInitComplete": "wait.sh",
    }
    nodes = [group("head", "Controller"), group("cpu", "Compute", LifeCycleConfig=scripts)]
    cluster = lab.create("waiting", nodes)
    lab.delete("waiting")
    assert "They would wait until they time out: it does not reach fs-" in cluster["FailureMessage"]


@pytest.fixture(scope="class")
def reached(lab: HyperPodLab, files: Any) -> Iterator[Any]:
    own = lab.network.security_group
    (files_group,) = {
        each["GroupId"]
        for interface in lab.aws.ec2.describe_network_interfaces(
            NetworkInterfaceIds=files["NetworkInterfaceIds"]
        )["NetworkInterfaces"]
        for each in interface["Groups"]
    }
    let(lab, files_group, own, 988)
    shut = make_group(lab, "shut")
    let(lab, shut, own, 22)
    let(lab, own, shut, 22, 6817, 6818, 6819)
    let(lab, files_group, shut, 988)
    elsewhere = {"SecurityGroupIds": [shut], "Subnets": [lab.network.subnet]}
    head, cpu = groups_with(files)
    cluster = lab.create("reached", [head, {**cpu, "OverrideVpcConfig": elsewhere}])
    yield cluster
    lab.delete("reached")


class TestInService:
    """A worker whose group admits Slurm, and a login node whose group does not."""

    def test_one_rule_more_lets_it_mount(self, lab: HyperPodLab, reached: Any) -> None:
        assert (reached["ClusterStatus"], reached.get("FailureMessage")) == ("InService", None)
        assert "/fsx" in lab.shell("reached", "head").run(["findmnt", "--noheadings", "/fsx"])

    def test_srun_gets_no_answer_where_its_ports_are_shut_both_ways(
        self, lab: HyperPodLab, reached: Any
    ) -> None:
        listen = "sudo systemd-run --quiet --unit=waits nc -lk 45000"
        for name, other in (("head", "cpu"), ("cpu", "head")):
            lab.shell("reached", name).run(["sh", "-c", listen])
            address = lab.nodes("reached", name)[0]["PrivatePrimaryIp"]
            assert succeeds(lab.shell("reached", name), *CONNECTS, address, "45000")
            assert not succeeds(lab.shell("reached", other), *CONNECTS, address, "45000")

    def test_a_port_that_no_rule_lets_in_is_silent_and_others_answer(
        self, lab: HyperPodLab, reached: Any
    ) -> None:
        head, cpu = lab.shell("reached", "head"), lab.shell("reached", "cpu")
        worker = lab.nodes("reached", "cpu")[0]["PrivatePrimaryIp"]
        controller = lab.nodes("reached", "head")[0]["PrivatePrimaryIp"]
        assert succeeds(cpu, *CONNECTS, controller, "6817")
        assert not succeeds(head, *CONNECTS, worker, "6818")
        assert succeeds(head, *CONNECTS, worker, "22")
        assert succeeds(cpu, *CONNECTS, worker, "6818")  # on the node itself


def test_a_user_is_told_the_rule_that_is_missing_with_its_port_and_its_groups(
    workplace: Workplace, tmp_path: Path
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN_FILES)
    result = workplace.run("rehearse", str(file))
    assert result.returncode == 1
    before, _, failed = result.stderr.partition("the rehearsal failed:")
    assert "[EXN-010]" in before
    assert re.search(
        r"does not reach fs-0a1b2c3d4e5f60718 at tcp 988: "
        r"sg-\w+ has no inbound rule for tcp 988 from 10\.7\.0\.\d+ \(sg-\w+\)",
        failed,
    )
