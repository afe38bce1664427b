from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmpod.environment.cluster import Role
from slurmpod.environment.environment import Environment
from slurmpod.environment.regions import partition_of
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, bucket_name, resolve
from slurmpod.resolve.stacks import all_stack_names
from tests.served import ENDPOINT
from tests.sound_environment import sound_data

NAMES = st.from_regex(r"[a-z](-*[a-z0-9])*", fullmatch=True).filter(lambda name: len(name) <= 63)


def resolved(**changes: Any) -> Resolved:
    return resolve(Reading(Environment.model_validate({**sound_data(), **changes}, strict=False)))


def group(**changes: Any) -> dict[str, Any]:
    worker = {"name": "workers", "role": "worker", "instance_type": "ml.m5.xlarge"}
    return {**worker, "partition": "cpu", **changes}


def test_each_network_card_of_each_node_takes_an_address() -> None:
    p5 = group(instance_type="ml.p5.48xlarge", count=4)
    network = resolved(cluster={"groups": [p5]}).network
    metadata_server, object_storage_server = 1, 1
    expected = 4 * 32 + metadata_server + object_storage_server
    assert network.private[0].addresses_needed == expected


def test_threads_default_to_what_the_instance_type_starts_with() -> None:
    groups = [
        group(name="a"),
        group(name="b", instance_type="ml.m7g.xlarge"),
        group(name="c", threads_per_core=1),
        group(name="d", instance_type="ml.unknown.large"),
    ]
    threads = [each.threads_per_core for each in resolved(cluster={"groups": groups}).groups]
    assert threads == [2, 1, 1, 1]


def test_an_unknown_instance_type_is_resolved_without_facts() -> None:
    (only,) = resolved(cluster={"groups": [group(instance_type="ml.unknown.large")]}).groups
    assert only.facts is None
    assert only.addresses_per_node == 1


def test_groups_keep_their_order_and_are_found_by_role() -> None:
    environment = resolved()
    assert [each.name for each in environment.groups] == ["controller", "workers"]
    assert [each.name for each in environment.groups_with(Role.WORKER)] == ["workers"]
    assert environment.groups_with(Role.LOGIN) == ()


def test_stacks_are_named_after_the_environment_in_order_of_deployment() -> None:
    assert resolved().stacks.in_order() == (
        "dev-network",
        "dev-storage",
        "dev-lifecycle",
        "dev-identity",
        "dev-cluster",
    )


def test_everything_that_can_have_a_stack_of_its_own_gets_one() -> None:
    environment = resolved(
        slurm={"rds": {}},
        monitoring={"prometheus": {}},
        access={"sessions": {"record": "s3"}},
        services={"endpoint": ENDPOINT, "notebook": {}},
    )
    assert environment.stacks.in_order() == all_stack_names("dev")


def test_every_resource_is_tagged_with_its_environment() -> None:
    assert resolved().tags == {"slurmpod:environment": "dev", "team": "ml"}


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("us-west-2", "aws"),
        ("us-gov-west-1", "aws-us-gov"),
        ("cn-north-1", "aws-cn"),
        ("eusc-de-east-1", "aws-eusc"),
        ("us-iso-west-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("nz-north-1", "aws"),
    ],
)
def test_the_aws_partition_follows_from_the_region(region: str, partition: str) -> None:
    assert partition_of(region) == partition
    environment = resolved(region=region)
    assert environment.arn("ec2", "vpc/vpc-1").startswith(f"arn:{partition}:ec2:{region}:")


@pytest.mark.parametrize(
    ("region", "name"),
    [
        ("us-west-2", "logs.us-west-2.amazonaws.com"),
        ("us-gov-west-1", "logs.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "logs.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_services_have_names_of_their_partition(region: str, name: str) -> None:
    assert resolved(region=region).service("logs") == name


@given(NAMES)
def test_every_allowed_name_makes_allowed_names_of_stacks_and_bucket(name: str) -> None:
    environment = resolved(name=name)
    # CreateStack, StackName; S3 user guide, general purpose bucket naming rules
    for stack in environment.stacks.in_order():
        assert re.fullmatch(r"[a-zA-Z][-a-zA-Z0-9]*", stack)
        assert len(stack) <= 128
    bucket = environment.lifecycle.bucket
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", bucket)
    assert bucket.startswith("sagemaker-")  # the managed HyperPod policy reads no others


@given(NAMES, NAMES)
def test_two_names_never_share_a_bucket(one: str, other: str) -> None:
    buckets = [bucket_name(name, "123456789012", "us-west-2") for name in (one, other)]
    assert (buckets[0] == buckets[1]) == (one == other)
