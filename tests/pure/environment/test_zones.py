from __future__ import annotations

import re

import pytest

from slurmpod.environment.catalog import (
    instance_types,
    offered_zone_ids,
    region_of_zone,
    zone_prefix,
)
from slurmpod.environment.names import ZONE_ID_PATTERN, is_zone_id
from slurmpod.environment.network import (
    SERVICES_WITHOUT_POLICIES,
    interface_endpoint_services,
)
from slurmpod.environment.regions import HYPERPOD_REGIONS
from slurmpod.resolve.network import SERVICES_OF_A_CLOSED_NETWORK


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("usw2-az2", "us-west-2"),
        ("us-west-2b", "us-west-2"),
        ("apse4-az1", "ap-southeast-4"),
        ("us-gov-west-1a", "us-gov-west-1"),
        ("us-east-1-dfw-2a", "us-east-1"),
        ("use1-dfw2-az1", "us-east-1"),
        ("zzz9-az1", None),
    ],
)
def test_a_zone_tells_its_region(zone: str, region: str | None) -> None:
    assert region_of_zone(zone) == region


def test_every_region_with_hyperpod_is_known_by_its_zone_ids() -> None:
    for region in HYPERPOD_REGIONS:
        assert region_of_zone(f"{zone_prefix(region)}-az1") == region


def test_the_offerings_name_accelerated_types_and_zone_ids_of_their_regions() -> None:
    for name, by_region in offered_zone_ids().items():
        assert instance_types()[name].accelerator_kind
        for region, zones in by_region.items():
            assert all(re.fullmatch(ZONE_ID_PATTERN, zone) for zone in zones)
            assert {region_of_zone(zone) for zone in zones} == {region}


def test_a_zone_id_is_told_from_a_name() -> None:
    assert is_zone_id("usw2-az2")
    assert not is_zone_id("us-west-2b")


def test_the_services_of_a_closed_network_have_endpoints_with_policies() -> None:
    assert interface_endpoint_services() >= set(SERVICES_OF_A_CLOSED_NETWORK)
    assert interface_endpoint_services() >= SERVICES_WITHOUT_POLICIES
    assert SERVICES_WITHOUT_POLICIES.isdisjoint(SERVICES_OF_A_CLOSED_NETWORK)
