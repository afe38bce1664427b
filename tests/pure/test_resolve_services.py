"""What the settings of services come to: names, images, memory, addresses, ways to call them."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest

from slurmpod.environment.service_types import (
    endpoint_types,
    has_own_disks,
    memory_of,
    notebook_types,
)
from slurmpod.resolve import EcrImage, Resolved
from slurmpod.resolve.services import ecr_image
from tests.served import served

DIGEST = "sha256:" + "0a" * 32


def addresses(resolved: Resolved) -> list[int]:
    return [subnet.addresses_needed for subnet in resolved.network.private]


@pytest.mark.parametrize(
    ("uri", "image"),
    [
        (
            "123456789012.dkr.ecr.us-west-2.amazonaws.com/team/gpt-j:1.0",
            EcrImage("123456789012", "us-west-2", "team/gpt-j", "1.0"),
        ),
        (
            f"123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/gpt-j@{DIGEST}",
            EcrImage("123456789012", "cn-north-1", "gpt-j", DIGEST),
        ),
    ],
)
def test_the_uri_of_an_image_is_taken_apart(uri: str, image: EcrImage) -> None:
    assert ecr_image(uri) == image


def test_gpt_j_takes_12_gigabytes() -> None:
    endpoint = served().endpoint
    assert endpoint
    assert endpoint.weights_bytes == 12_100_000_000
    assert (endpoint.model_bucket, endpoint.model_key) == ("models", "gpt-j/model.tar.gz")


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("ml.g4dn.xlarge", 17.2),
        ("ml.p3.2xlarge", 17.2),
        ("ml.p3.16xlarge", 137.4),
        ("ml.inf2.24xlarge", 206.2),
        ("ml.m5.xlarge", 17.2),
    ],
)
def test_the_memory_of_a_type_is_that_of_its_accelerators_or_its_own(
    name: str, gigabytes: float
) -> None:
    memory = memory_of(name)
    assert memory
    assert round(memory.bytes_together / 1e9, 1) == gigabytes


def test_the_memory_of_other_types_is_not_known() -> None:
    assert memory_of("ml.m4.xlarge") is None


@pytest.mark.parametrize(
    ("name", "has_disks"),
    [
        ("ml.g5.xlarge", True),
        ("ml.c5d.xlarge", True),
        ("ml.m6gd.large", True),
        ("ml.c5.xlarge", False),
        ("ml.p3.2xlarge", False),
        ("ml.inf2.xlarge", False),
    ],
)
def test_types_with_disks_of_their_own_are_known(name: str, has_disks: bool) -> None:
    assert has_own_disks(name) is has_disks


def test_the_list_of_types_is_that_of_the_api() -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape: Any = model.shape_for("ProductionVariantInstanceType")
    assert endpoint_types() == frozenset(shape.enum)
    shape = model.shape_for("InstanceType")
    assert notebook_types() == frozenset(shape.enum)


def test_instances_have_addresses_in_every_subnet_also_while_new_ones_come() -> None:
    without = served(services={})
    assert [n - m for n, m in zip(addresses(served()), addresses(without), strict=True)] == [4, 4]
    scaling = {"max_instances": 3, "invocations_per_instance": 60}
    more = served(scaling=scaling)
    assert [n - m for n, m in zip(addresses(more), addresses(without), strict=True)] == [12, 12]


def test_a_notebook_has_an_address_in_the_zone_of_the_file_systems() -> None:
    without, beside = served(services={}), served(services={"notebook": {}})
    taken = zip(addresses(beside), addresses(without), strict=True)
    assert [n - m for n, m in taken] == [1, 0]


def test_a_closed_network_has_an_endpoint_to_call_the_model() -> None:
    assert "sagemaker.runtime" in served(closed=True).network.interface_endpoints
    assert "sagemaker.runtime" not in served(closed=True, services={}).network.interface_endpoints
    assert served().network.interface_endpoints == ()
