"""Networks for tests: the variants of environments, and random ones."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

from hypothesis import strategies as st

ZONES = ("usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4", "us-west-2a", "us-west-2b")

EXISTING: dict[str, Any] = {
    "vpc_id": "vpc-0a1b2c3d4e5f60718",
    "subnets": [
        {"id": "subnet-0a1b2c3d4e5f60718", "zone": "usw2-az2", "cidr": "10.9.0.0/17"},
        {"id": "subnet-0a1b2c3d4e6071829", "zone": "usw2-az1"},
    ],
}

VARIANTS: dict[str, dict[str, Any]] = {
    "one zone by name": {"zone": "us-west-2b"},
    "one zone by id": {"zone": "usw2-az2"},
    "zones that share a NAT gateway": {
        "zone": "usw2-az2",
        "nat": "one",
        "other_zones": [{"zone": "usw2-az1"}, {"zone": "usw2-az3"}],
    },
    "a NAT gateway per zone": {
        "zone": "usw2-az2",
        "nat": "per_zone",
        "other_zones": [{"zone": "usw2-az1"}],
        "secondary_cidrs": ["10.1.0.0/16", "100.64.0.0/16"],
    },
    "routes of one's own": {
        "zone": "usw2-az2",
        "nat": "none",
        "flow_logs": {"traffic": "NONE"},
    },
    "closed": {
        "zone": "usw2-az2",
        "closed": True,
        "other_zones": [{"zone": "usw2-az1"}],
        "interface_endpoints": ["aps-workspaces", "glue"],
        "s3_buckets": ["more-training-data"],
        "flow_logs": {
            "traffic": "REJECT",
            "retention_days": 30,
            "kms_key_arn": "arn:aws:kms:us-west-2:123456789012:key/"
            "12345678-1234-1234-1234-123456789012",
        },
    },
    "existing": {"zone": "usw2-az2", "existing": EXISTING},
    "existing with a security group": {
        "zone": "usw2-az2",
        "existing": {**EXISTING, "security_group_ids": ["sg-0a1b2c3d"]},
    },
    "existing and closed": {
        "zone": "usw2-az2",
        "closed": True,
        "existing": {**EXISTING, "route_table_ids": ["rtb-0a1b2c3d"]},
    },
    "existing with endpoints": {
        "zone": "usw2-az2",
        "closed": True,
        "existing": {
            **EXISTING,
            "security_group_ids": ["sg-0a1b2c3d"],
            "has_endpoints": True,
        },
    },
}


@st.composite
def cidrs(draw: st.DrawFn, least: int = 16, most: int = 24) -> str:
    """Draw a range, often one near the others."""
    prefix = draw(st.integers(least, most))
    start = draw(
        st.sampled_from([f"10.{n}.0.0" for n in range(4)])
        | st.sampled_from(["172.17.0.0", "172.31.0.0", "192.168.0.0", "100.64.0.0", "198.19.0.0"])
        | st.ip_addresses(v=4).map(str)
    )
    return str(IPv4Network(f"{start}/{prefix}", strict=False))


@st.composite
def new_vpcs(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a new VPC with disjoint blocks and its default subnets."""
    zones = draw(st.lists(st.sampled_from(ZONES), min_size=1, max_size=6, unique=True))
    prefix = draw(st.integers(16, 24))
    numbers = draw(st.lists(st.integers(1, 200), max_size=4, unique=True))
    prefixes = [draw(st.integers(16, 24)) for _ in numbers]
    return {
        "zone": zones[0],
        "other_zones": [{"zone": zone} for zone in zones[1:]],
        "vpc_cidr": f"10.0.0.0/{prefix}",
        "secondary_cidrs": [
            f"10.{number}.0.0/{size}" for number, size in zip(numbers, prefixes, strict=True)
        ],
        "nat": draw(st.sampled_from([None, "one", "per_zone", "none"])),
        "closed": draw(st.booleans()),
    }


def odd_networks() -> st.SearchStrategy[dict[str, Any]]:
    """Draw a well-formed network with any combination of mistakes."""
    zones = st.sampled_from([*ZONES, "use1-az1", "zzz9-az9", "eu-west-1a"])
    optional = {
        "vpc_cidr": cidrs(),
        "secondary_cidrs": st.lists(cidrs(), max_size=4),
        "private_subnet_cidr": cidrs(8, 32),
        "other_zones": st.lists(
            st.fixed_dictionaries({"zone": zones}, optional={"private_subnet_cidr": cidrs(8, 32)}),
            max_size=5,
        ),
        "nat": st.sampled_from(["one", "per_zone", "none"]),
        "closed": st.booleans(),
        "interface_endpoints": st.lists(
            st.sampled_from(["ecr.api", "s3", "nothing", "com.amazonaws.us-west-2.sts", "aws.x"]),
            max_size=4,
        ),
        "s3_buckets": st.lists(st.just("some-bucket"), max_size=2),
        "flow_logs": st.fixed_dictionaries(
            {"traffic": st.sampled_from(["ALL", "REJECT", "NONE"])},
            optional={"retention_days": st.just(30)},
        ),
        "existing": _existing(zones),
    }
    return st.fixed_dictionaries({"zone": zones}, optional=optional)


def _existing(zones: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    subnets = st.fixed_dictionaries(
        {"id": st.sampled_from(["subnet-0a1b2c3d", "subnet-0a1b2c3e"]), "zone": zones},
        optional={"cidr": cidrs(8, 32)},
    )
    return st.fixed_dictionaries(
        {
            "vpc_id": st.just("vpc-0a1b2c3d"),
            "subnets": st.lists(subnets, min_size=1, max_size=4),
        },
        optional={
            "security_group_ids": st.lists(st.just("sg-0a1b2c3d"), max_size=2),
            "route_table_ids": st.lists(st.just("rtb-0a1b2c3d"), max_size=2),
            "has_endpoints": st.booleans(),
        },
    )
