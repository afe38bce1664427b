"""Each thing in a VPC that can stop a connection stops it, and is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from embedded_aws.reachability.model import (
    EVERYWHERE,
    Acl,
    AclEntry,
    Endpoint,
    Graph,
    Group,
    Interface,
    Outside,
    Route,
    RouteTable,
    Rule,
    Subnet,
)
from embedded_aws.reachability.paths import Verdict, reaches, reaches_service

NODE = Interface("10.0.0.4", "subnet-a", ("sg-nodes",))
BESIDE = Interface("10.0.0.5", "subnet-a", ("sg-files",), "eni-beside")
FILES = Interface("10.0.1.5", "subnet-b", ("sg-files",), "eni-files")
INTERNET = Outside("the internet")

OPEN_ACL = Acl(
    "acl-open",
    (AclEntry(100, True, True, "-1", EVERYWHERE), AclEntry(100, False, True, "-1", EVERYWHERE)),
)
TABLE = RouteTable("rtb-1", (Route("10.0.0.0/16", "local"), Route(EVERYWHERE, "nat-1")))


def group(id_: str, *, into: tuple[Rule, ...] = (), out: tuple[Rule, ...] = ()) -> Group:
    return Group(id_, ingress=into, egress=out)


TO_FILES = Rule("tcp", 988, 988, groups=("sg-files",))
FROM_NODES = Rule("tcp", 988, 988, groups=("sg-nodes",))
GRAPH = Graph(
    subnets={
        "subnet-a": Subnet("subnet-a", "vpc-1", "10.0.0.0/24", "acl-a", "rtb-1"),
        "subnet-b": Subnet("subnet-b", "vpc-1", "10.0.1.0/24", "acl-b", "rtb-1"),
    },
    groups={
        "sg-nodes": group("sg-nodes", out=(TO_FILES, Rule("tcp", 443, 443, cidrs=(EVERYWHERE,)))),
        "sg-files": group("sg-files", into=(FROM_NODES,)),
    },
    acls={
        "acl-a": replace(OPEN_ACL, id="acl-a"),
        "acl-b": replace(OPEN_ACL, id="acl-b"),
    },
    route_tables={"rtb-1": TABLE},
    interfaces={"eni-files": FILES},
)


def with_group(changed: Group) -> Graph:
    return replace(GRAPH, groups={**GRAPH.groups, changed.id: changed})


def with_acl(id_: str, *entries: AclEntry) -> Graph:
    return replace(GRAPH, acls={**GRAPH.acls, id_: Acl(id_, (*entries, *OPEN_ACL.entries))})


def with_routes(*routes: Route) -> Graph:
    return replace(GRAPH, route_tables={"rtb-1": RouteTable("rtb-1", routes)})


def denied(*, out: bool, ports: tuple[int, int], number: int = 1) -> AclEntry:
    return AclEntry(number, out, False, "tcp", EVERYWHERE, *ports)


@pytest.mark.parametrize("target", [BESIDE, FILES, INTERNET])
def test_what_nothing_stops_is_reached(target: Interface | Outside) -> None:
    port = 443 if target is INTERNET else 988
    assert reaches(GRAPH, NODE, target, port) == Verdict()


@pytest.mark.parametrize(
    ("port", "protocol", "why"),
    [
        (2049, "tcp", "sg-nodes has no outbound rule for tcp 2049 to 10.0.1.5 (sg-files)"),
        (988, "udp", "sg-nodes has no outbound rule for udp 988 to 10.0.1.5 (sg-files)"),
    ],
)
def test_a_port_that_no_rule_lets_out(port: int, protocol: str, why: str) -> None:
    verdict = reaches(GRAPH, NODE, FILES, port, protocol)
    assert (verdict.stopped_by, verdict.why) == ("sg-nodes", why)


@pytest.mark.parametrize(
    "rule",
    [
        Rule("tcp", 988, 988, groups=("sg-others",)),
        Rule("tcp", 988, 988, cidrs=("10.0.2.0/24",)),
        Rule("tcp", 989, 2049, groups=("sg-nodes",)),
        Rule("udp", 988, 988, groups=("sg-nodes",)),
    ],
)
def test_a_group_that_lets_in_others_or_other_ports(rule: Rule) -> None:
    verdict = reaches(with_group(group("sg-files", into=(rule,))), NODE, BESIDE, 988)
    lack = "no inbound rule for tcp 988 from 10.0.0.4 (sg-nodes)"
    assert verdict == Verdict("sg-files", f"sg-files has {lack}")


@pytest.mark.parametrize(
    "rule",
    [
        Rule("-1", groups=("sg-nodes",)),
        Rule("tcp", 900, 1000, cidrs=("10.0.0.0/24",)),
        Rule("tcp", 988, 988, cidrs=("10.0.0.4/32",)),
    ],
)
def test_a_group_that_lets_in_by_group_range_or_address(rule: Rule) -> None:
    assert reaches(with_group(group("sg-files", into=(rule,))), NODE, FILES, 988).reached


def test_one_of_several_groups_suffices() -> None:
    node = replace(NODE, groups=("sg-files", "sg-nodes"))
    assert reaches(GRAPH, node, FILES, 988).reached


def test_a_group_that_nobody_described_stops_nothing() -> None:
    foreign = replace(FILES, groups=("sg-of-another-account",))
    out = with_group(group("sg-nodes", out=(Rule("-1", cidrs=(EVERYWHERE,)),)))
    assert reaches(out, NODE, foreign, 988).reached


@pytest.mark.parametrize(
    ("acl", "entry", "why"),
    [
        (
            "acl-a",
            denied(out=True, ports=(988, 988)),
            "acl-a of subnet-a lets no tcp 988 out to 10.0.1.5 (sg-files)",
        ),
        (
            "acl-b",
            denied(out=False, ports=(0, 1023)),
            "acl-b of subnet-b lets no tcp 988 in from 10.0.0.4 (sg-nodes)",
        ),
        (
            "acl-b",
            denied(out=True, ports=(40000, 40000)),
            "acl-b of subnet-b lets no tcp 32768-60999 out to 10.0.0.4 (sg-nodes)",
        ),
        (
            "acl-a",
            denied(out=False, ports=(60999, 65535)),
            "acl-a of subnet-a lets no tcp 32768-60999 in from 10.0.1.5 (sg-files)",
        ),
    ],
)
def test_network_acls_judge_both_ways_between_subnets(acl: str, entry: AclEntry, why: str) -> None:
    graph = with_acl(acl, entry)
    assert reaches(graph, NODE, FILES, 988) == Verdict(acl, why)
    assert reaches(graph, NODE, BESIDE, 988).reached  # in one subnet they have no say


def test_the_lowest_entry_of_an_acl_decides() -> None:
    allowed = AclEntry(1, False, True, "tcp", "10.0.0.0/24", 988, 988)
    graph = with_acl("acl-b", allowed, denied(out=False, ports=(0, 65535), number=2))
    assert reaches(graph, NODE, FILES, 988).reached
    shut = replace(GRAPH, acls={**GRAPH.acls, "acl-b": Acl("acl-b", (allowed,))})
    assert reaches(shut, NODE, FILES, 988).why.endswith("out to 10.0.0.4 (sg-nodes)")


def test_replies_to_lustre_go_to_its_own_ports() -> None:
    graph = with_acl("acl-a", denied(out=False, ports=(1018, 1023)))
    assert reaches(graph, NODE, FILES, 988).reached
    verdict = reaches(graph, NODE, FILES, 988, replies=(1018, 1023))
    assert verdict.why == "acl-a of subnet-a lets no tcp 1018-1023 in from 10.0.1.5 (sg-files)"


@pytest.mark.parametrize(
    ("routes", "target", "why"),
    [
        ((), FILES, "rtb-1 of subnet-a has no route to 10.0.1.5 (sg-files)"),
        (
            (Route("10.0.0.0/16", "local"),),
            INTERNET,
            "rtb-1 of subnet-a has no route to the internet",
        ),
        (
            (Route(EVERYWHERE, "nat-1", is_active=False),),
            INTERNET,
            "rtb-1 of subnet-a leads to nat-1, which is gone",
        ),
        (
            (Route(EVERYWHERE, "igw-1"),),
            INTERNET,
            "rtb-1 of subnet-a leads to igw-1, and nodes have no public address",
        ),
        (
            (Route("10.0.0.0/16", "local"), Route("10.0.1.0/24", "pcx-1", is_active=False)),
            FILES,
            "rtb-1 of subnet-a leads to pcx-1, which is gone",
        ),
    ],
)
def test_routes_that_lead_nowhere(
    routes: tuple[Route, ...], target: Interface | Outside, why: str
) -> None:
    port = 443 if target is INTERNET else 988
    verdict = reaches(with_routes(*routes), NODE, target, port)
    assert verdict == Verdict("rtb-1", why)
    assert reaches(with_routes(*routes), NODE, BESIDE, 988).reached  # in one subnet none is needed


def test_a_service_is_reached_through_its_endpoint_if_that_has_its_name() -> None:
    endpoint = Endpoint("vpce-1", "logs", "Interface", True, interfaces=("eni-files",))
    graph = replace(GRAPH, endpoints=(endpoint,))
    assert reaches_service(graph, NODE, "ssm").reached  # by the NAT gateway
    inbound = "sg-files has no inbound rule for tcp 443 from 10.0.0.4 (sg-nodes)"
    assert reaches_service(graph, NODE, "logs") == Verdict("sg-files", inbound)
    nameless = replace(graph, endpoints=(replace(endpoint, has_private_dns=False),))
    assert reaches_service(nameless, NODE, "logs").reached


def test_s3_is_reached_through_a_gateway_endpoint_of_the_subnet() -> None:
    endpoint = Endpoint("vpce-1", "s3", "Gateway", False, route_tables=("rtb-1",))
    with_endpoint = replace(GRAPH, endpoints=(endpoint,))
    closed = replace(with_endpoint, route_tables={"rtb-1": RouteTable("rtb-1")})
    assert not reaches_service(closed, NODE, "s3").reached
    table = RouteTable("rtb-1", (Route("pl-1", "vpce-1"),))
    graph = replace(with_endpoint, route_tables={"rtb-1": table})
    assert reaches_service(graph, NODE, "s3").reached
    assert not reaches_service(graph, NODE, "ssm").reached
    to_list = group("sg-nodes", out=(Rule("tcp", 443, 443, prefix_lists=("pl-1",)),))
    narrow = replace(graph, groups={**GRAPH.groups, "sg-nodes": to_list})
    assert reaches_service(narrow, NODE, "s3").reached
