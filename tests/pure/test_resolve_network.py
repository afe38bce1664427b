from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from slurmpod.resolve.network import SERVICES_OF_A_CLOSED_NETWORK
from tests.networks import EXISTING, new_vpcs
from tests.sound_environment import sound_data

REMOTE_WRITE_URL = (
    "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1/api/v1/remote_write"
)


def resolved(network: dict[str, Any], **changes: Any) -> Resolved:
    data = {**sound_data(), "network": network, **changes}
    return resolve(Reading(Environment.model_validate(data, strict=False)))


def cidrs(*ranges: str) -> list[IPv4Network]:
    return [IPv4Network(each) for each in ranges]


def private(network: dict[str, Any]) -> list[IPv4Network | None]:
    return [subnet.cidr for subnet in resolved(network).network.private]


@given(new_vpcs())
def test_subnets_of_a_new_vpc_lie_in_its_blocks_and_never_overlap(network: dict[str, Any]) -> None:
    result = resolved(network).network
    assert result.vpc_cidr is not None
    blocks = [result.vpc_cidr, *result.secondary_cidrs]
    known = [subnet.cidr for subnet in (*result.public, *result.private) if subnet.cidr]
    assert len(known) == len(result.public) + len(result.private)
    assert all(any(cidr.subnet_of(block) for block in blocks) for cidr in known)
    assert not any(one.overlaps(other) for one, other in combinations(known, 2))
    assert all(16 <= cidr.prefixlen <= 28 for cidr in known)


@given(new_vpcs())
def test_every_zone_has_a_private_subnet_and_with_nat_a_public_one(network: dict[str, Any]) -> None:
    result = resolved(network).network
    zones = [network["zone"], *(other["zone"] for other in network["other_zones"])]
    assert result.zones == tuple(zones)
    assert [subnet.zone for subnet in result.public] == (zones if result.nat_gateways else [])
    assert all((subnet.addresses_usable or 0) >= 1 for subnet in result.public)


def test_nodes_get_the_upper_half_of_the_vpc_by_default() -> None:
    network = {"zone": "us-west-2b", "vpc_cidr": "10.4.0.0/16"}
    assert private(network) == cidrs("10.4.128.0/17")
    assert [subnet.cidr for subnet in resolved(network).network.public] == cidrs("10.4.0.0/24")


def test_a_subnet_that_aws_keeps_for_itself_has_no_addresses_to_use() -> None:
    network = {"zone": "us-west-2b", "private_subnet_cidr": "10.0.128.0/31"}
    (subnet,) = resolved(network).network.private
    assert subnet.addresses_usable == 0


def test_a_subnet_of_ones_own_replaces_the_upper_half() -> None:
    network = {"zone": "us-west-2b", "private_subnet_cidr": "10.0.32.0/20"}
    assert private(network) == cidrs("10.0.32.0/20")


def test_zones_share_the_upper_half_equally() -> None:
    network = {"zone": "usw2-az2", "other_zones": [{"zone": "usw2-az1"}, {"zone": "usw2-az3"}]}
    assert private(network) == cidrs("10.0.128.0/19", "10.0.160.0/19", "10.0.192.0/19")


def test_zones_are_dealt_out_to_the_secondary_blocks() -> None:
    network = {
        "zone": "usw2-az2",
        "other_zones": [{"zone": "usw2-az1"}, {"zone": "usw2-az3"}],
        "secondary_cidrs": ["10.1.0.0/16", "10.2.0.0/16"],
    }
    assert private(network) == cidrs("10.1.0.0/17", "10.2.0.0/16", "10.1.128.0/17")


def test_further_blocks_than_zones_hold_nothing() -> None:
    network = {"zone": "usw2-az2", "secondary_cidrs": ["10.1.0.0/16", "10.2.0.0/16"]}
    assert private(network) == cidrs("10.1.0.0/16")


def test_a_zone_has_the_range_that_was_chosen_for_it() -> None:
    other = {"zone": "usw2-az1", "private_subnet_cidr": "10.0.64.0/20"}
    subnets = resolved({"zone": "usw2-az2", "other_zones": [other]}).network.private
    assert [subnet.cidr for subnet in subnets] == cidrs("10.0.128.0/18", "10.0.64.0/20")
    assert [subnet.path for subnet in subnets] == [
        ("network", "vpc_cidr"),
        ("network", "other_zones", 0, "private_subnet_cidr"),
    ]


@pytest.mark.parametrize(
    ("changes", "gateways"),
    [
        ({}, 1),
        ({"nat": "one"}, 1),
        ({"nat": "per_zone"}, 2),
        ({"nat": "none"}, 0),
        ({"closed": True}, 0),
    ],
)
def test_nat_gateways_are_as_many_as_asked_for(changes: dict[str, Any], gateways: int) -> None:
    network = {"zone": "usw2-az2", "other_zones": [{"zone": "usw2-az1"}], **changes}
    assert resolved(network).network.nat_gateways == gateways


@pytest.mark.parametrize("nat", ["one", "per_zone", "none"])
def test_the_number_of_nat_gateways_moves_no_subnet(nat: str) -> None:
    network = {"zone": "usw2-az2", "other_zones": [{"zone": "usw2-az1"}]}
    default, changed = resolved(network).network, resolved({**network, "nat": nat}).network
    assert changed.private == default.private
    assert changed.public in {default.public, ()}


def test_endpoints_take_an_address_in_every_zone() -> None:
    network = {"zone": "usw2-az2", "closed": True, "other_zones": [{"zone": "usw2-az1"}]}
    result = resolved({**network, "interface_endpoints": ["aps-workspaces", "ecr.api"]}).network
    assert set(result.interface_endpoints) == {*SERVICES_OF_A_CLOSED_NETWORK, "aps-workspaces"}
    nodes_and_file_system = 1 + 2 + 2
    assert [subnet.addresses_needed for subnet in result.private] == [
        nodes_and_file_system + len(SERVICES_OF_A_CLOSED_NETWORK) + 1,
        len(SERVICES_OF_A_CLOSED_NETWORK) + 1,
    ]


@pytest.mark.parametrize(
    ("closed", "monitoring", "has_endpoint"),
    [
        (True, {"prometheus": {}}, True),
        (True, {"observability": {"remote_write_url": REMOTE_WRITE_URL}}, True),
        (True, {"observability": {}}, False),
        (False, {"prometheus": {}}, False),
    ],
)
def test_nodes_of_a_closed_network_reach_where_metrics_go(
    closed: bool, monitoring: dict[str, Any], has_endpoint: bool
) -> None:
    result = resolved({"zone": "usw2-az2", "closed": closed}, monitoring=monitoring)
    assert ("aps-workspaces" in result.network.interface_endpoints) == has_endpoint


def test_groups_take_their_addresses_in_their_zone() -> None:
    groups = [
        {"name": "controller", "role": "controller", "instance_type": "ml.m5.large"},
        {
            "name": "workers",
            "role": "worker",
            "instance_type": "ml.p5.48xlarge",
            "count": 2,
            "partition": "gpu",
            "zone": "usw2-az1",
        },
    ]
    network = {"zone": "usw2-az2", "other_zones": [{"zone": "usw2-az1"}]}
    main, other = resolved(network, cluster={"groups": groups}).network.private
    assert (main.addresses_needed, other.addresses_needed) == (1 + 2, 2 * 32)


def test_an_existing_network_is_taken_as_it_is_the_main_zone_first() -> None:
    result = resolved({"zone": "usw2-az1", "existing": EXISTING}).network
    assert [(subnet.zone, subnet.id) for subnet in result.private] == [
        ("usw2-az1", "subnet-0a1b2c3d4e6071829"),
        ("usw2-az2", "subnet-0a1b2c3d4e5f60718"),
    ]
    assert {subnet.path[:3] for subnet in result.private} == {("network", "existing", "subnets")}
    assert (result.vpc_cidr, result.public, result.nat_gateways) == (None, (), 0)
    assert result.known_cidrs == tuple(cidrs("10.9.0.0/17"))
    assert result.private[0].addresses_usable is None


@pytest.mark.parametrize(
    ("changes", "makes_network"),
    [
        ({"existing": EXISTING}, True),
        ({"existing": {**EXISTING, "security_group_ids": ["sg-0a1b2c3d"]}}, False),
        (
            {
                "existing": {
                    **EXISTING,
                    "security_group_ids": ["sg-0a1b2c3d"],
                    "route_table_ids": ["rtb-0a1b2c3d"],
                }
            },
            True,
        ),
        ({"existing": {**EXISTING, "security_group_ids": ["sg-0a1b2c3d"]}, "closed": True}, True),
        (
            {
                "existing": {
                    **EXISTING,
                    "security_group_ids": ["sg-0a1b2c3d"],
                    "has_endpoints": True,
                },
                "closed": True,
            },
            False,
        ),
        ({}, True),
    ],
)
def test_there_is_a_network_stack_when_something_has_to_be_made(
    changes: dict[str, Any], makes_network: bool
) -> None:
    stack = resolved({"zone": "usw2-az2", **changes}).stacks.network
    assert (stack is not None) is makes_network
