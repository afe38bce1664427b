"""The arithmetic of addresses at its edges."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from slurmpod.problems import Problem
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from slurmpod.rules.network import may_be_added
from tests.sound_environment import SOUND


def check_with(*, nodes: int, instance_type: str = "ml.m5.xlarge", network: str) -> list[Problem]:
    text = SOUND.replace("  vpc_cidr: 10.0.0.0/16\n", network).replace(
        "count: 2", f"count: {nodes}"
    )
    text = text.replace("ml.m5.large", "ml.m5.4xlarge")  # a controller for thousands of nodes
    return list(check(read_as("dev.yaml", text.replace("ml.m5.xlarge", instance_type))))


def found(text: str, rule: str) -> list[Problem]:
    return [problem for problem in check(read_as("dev.yaml", text)) if problem.rule == rule]


def room_of(*, nodes: int, instance_type: str, network: str) -> Problem:
    (problem,) = check_with(nodes=nodes, instance_type=instance_type, network=network)
    assert problem.rule == "NET-006"
    return problem


CONTROLLER_AND_FILE_SYSTEM = 3


@pytest.mark.parametrize("prefix", range(17, 24))
def test_the_subnet_may_be_filled_to_the_last_address_and_no_further(prefix: int) -> None:
    network = f"  vpc_cidr: 10.0.0.0/16\n  private_subnet_cidr: 10.0.128.0/{prefix}\n"
    room = min(2 ** (32 - prefix) - 5 - CONTROLLER_AND_FILE_SYSTEM, 6758)
    assert check_with(nodes=room, network=network) == []
    if room < 6758:
        (problem,) = check_with(nodes=room + 1, network=network)
        assert problem.rule == "NET-006"
        assert problem.fix == f"choose a /{prefix - 1} or larger"


@pytest.mark.parametrize("prefix", range(19, 25))
def test_the_vpc_that_the_fix_names_is_the_smallest_that_suffices(prefix: int) -> None:
    room = 2 ** (32 - prefix - 1) - 5 - CONTROLLER_AND_FILE_SYSTEM
    (problem,) = check_with(nodes=room + 1, network=f"  vpc_cidr: 10.0.0.0/{prefix}\n")
    assert problem.fix.startswith(f"choose a vpc_cidr of /{prefix - 1} or larger")
    assert check_with(nodes=room + 1, network=f"  vpc_cidr: 10.0.0.0/{prefix - 1}\n") == []


def test_the_message_says_which_group_needs_how_many() -> None:
    network = "  vpc_cidr: 10.0.0.0/24\n"
    (problem,) = check_with(nodes=4, instance_type="ml.p5.48xlarge", network=network)
    assert problem.message == (
        "131 addresses are needed, 10.0.0.128/25 has 123: "
        "controller 1, workers 128 (4 x 32), file systems 2"
    )


def test_a_secondary_block_holds_more_than_the_half_of_the_largest_vpc() -> None:
    network = "  vpc_cidr: 10.0.0.0/16\n"
    problem = room_of(nodes=1024, instance_type="ml.p5.48xlarge", network=network)
    assert problem.fix.startswith("add a block of /16 or larger to secondary_cidrs")
    network += "  secondary_cidrs: [10.1.0.0/16]\n"
    assert check_with(nodes=1024, instance_type="ml.p5.48xlarge", network=network) == []


def test_no_subnet_is_large_enough_for_everything() -> None:
    network = "  vpc_cidr: 10.0.0.0/16\n  secondary_cidrs: [10.1.0.0/16]\n"
    problem = room_of(nodes=2048, instance_type="ml.p5.48xlarge", network=network)
    assert problem.fix == "use fewer nodes: no subnet is larger than /16"


def test_nodes_with_efa_only_take_one_address_each() -> None:
    network = "  vpc_cidr: 10.0.0.0/24\n"
    one_each = "ml.p5.48xlarge\n      network_interface: efa-only"
    assert check_with(nodes=120, instance_type=one_each, network=network) == []


def test_each_zone_is_counted_by_itself_and_names_its_own() -> None:
    text = SOUND.replace("us-west-2b", "usw2-az2").replace("  vpc_cidr: 10.0.0.0/16\n", ZONES)
    (problem,) = found(text + "      zone: usw2-az1\n", "NET-006")
    assert problem.message == (
        "15 addresses are needed in usw2-az1, 10.0.0.192/28 has 11: "
        "workers 2, interface endpoints 13"
    )
    assert (problem.where.path, problem.fix) == (
        "network.other_zones[0].private_subnet_cidr",
        "choose a /27 or larger",
    )


ZONES = """\
  closed: true
  vpc_cidr: 10.0.0.0/24
  private_subnet_cidr: 10.0.0.128/26
  other_zones:
    - zone: usw2-az1
      private_subnet_cidr: 10.0.0.192/28
"""


EXISTING = """\
  existing:
    vpc_id: vpc-0a1b2c3d4e5f60718
    subnets:
      - {id: subnet-0a1b2c3d4e5f60718, zone: us-west-2b, cidr: 10.9.0.0/28}
"""


def test_the_range_of_an_existing_subnet_is_checked_where_it_is_written() -> None:
    text = SOUND.replace("  vpc_cidr: 10.0.0.0/16\n", EXISTING).replace("count: 2", "count: 20")
    (problem,) = found(text, "NET-006")
    assert problem.where.path == "network.existing.subnets[0].cidr"
    assert problem.fix == "choose a /27 or larger"


def test_the_room_of_an_existing_subnet_of_unknown_size_is_not_judged() -> None:
    network = EXISTING.replace(", cidr: 10.9.0.0/28", "")
    text = SOUND.replace("  vpc_cidr: 10.0.0.0/16\n", network).replace("count: 2", "count: 6000")
    assert found(text, "NET-006") == []


def test_existing_subnets_have_the_ranges_that_they_have() -> None:
    other = "      - {id: subnet-0a1b2c3d4e5f60719, zone: us-west-2a, cidr: 10.9.0.0/27}\n"
    text = SOUND.replace("  vpc_cidr: 10.0.0.0/16\n", EXISTING + other)
    (problem,) = found(text, "NET-007")
    assert problem.where.path == "network.existing.subnets[1].cidr"
    assert problem.fix.startswith("write the ranges that the subnets have")


@pytest.mark.parametrize(
    ("block", "earlier", "may"),
    [
        ("10.1.0.0/16", "10.0.0.0/16", True),
        ("10.0.0.0/16", "10.1.0.0/16", False),
        ("10.0.4.0/24", "10.0.0.0/24", False),
        ("10.2.0.0/16", "10.9.0.0/16", True),
        ("172.16.0.0/16", "10.0.0.0/16", False),
        ("192.168.0.0/16", "10.0.0.0/16", False),
        ("100.64.0.0/16", "10.0.0.0/16", True),
        ("52.1.0.0/16", "10.0.0.0/16", True),
        ("198.19.0.0/16", "10.0.0.0/16", False),
        ("172.20.0.0/16", "172.16.0.0/16", True),
        ("172.31.0.0/16", "172.16.0.0/16", False),
        ("10.0.0.0/16", "172.16.0.0/16", False),
        ("192.168.0.0/24", "192.168.1.0/24", True),
        ("10.5.0.0/16", "100.64.0.0/16", False),
        ("198.19.0.0/16", "100.64.0.0/16", False),
        ("100.65.0.0/16", "100.64.0.0/16", True),
        ("10.0.0.0/16", "198.19.0.0/16", False),
        ("100.64.0.0/16", "198.19.0.0/16", True),
    ],
)
def test_blocks_are_associated_as_the_table_of_aws_permits(
    block: str, earlier: str, may: bool
) -> None:
    assert may_be_added(IPv4Network(block), IPv4Network(earlier)) is may


@pytest.mark.parametrize(
    ("primary", "secondary", "messages"),
    [
        ("10.0.0.0/16", "[100.64.0.0/16, 10.1.0.0/16]", []),
        (
            "10.2.0.0/16",
            "[10.1.0.0/16, 10.0.0.0/16]",
            ["AWS adds no 10.0.0.0/16 to a VPC that has 10.1.0.0/16"],
        ),
        (
            "10.2.0.0/16",
            "[100.64.0.0/16, 192.168.0.0/16]",
            ["AWS adds no 192.168.0.0/16 to a VPC that has 10.2.0.0/16"],
        ),
    ],
)
def test_which_blocks_are_added_follows_from_the_first(
    primary: str, secondary: str, messages: list[str]
) -> None:
    blocks = f"vpc_cidr: {primary}\n  secondary_cidrs: {secondary}"
    text = SOUND.replace("vpc_cidr: 10.0.0.0/16", blocks)
    assert [problem.message for problem in found(text, "BLK-003")] == messages
