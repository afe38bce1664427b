"""What a VPC stops on the way from nodes to what they need."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from embedded_aws.cluster import Cluster, ClusterNode, NetworkInterface, VpcConfig
from embedded_aws.reachability.model import EVERYWHERE, Graph, Group, Interface, Rule, Subnet
from slurmpod.aws.gateway import DatabaseServer, SharedFileSystem
from slurmpod.rehearsal.hyperpod.vpc_paths import VpcPaths, named_in
from tests.pure.hyperpod.clusters import cluster, group, node

OPEN_OUT = (Rule("-1", cidrs=(EVERYWHERE,)),)
FILES = Interface("10.0.0.9", "subnet-1", ("sg-files",), "eni-files")
RECORDS = Interface("10.0.0.8", "subnet-1", ("sg-records",), "eni-records")


def placed(group_name: str, address: str) -> ClusterNode:
    made = node(group_name, address)
    made.interface = NetworkInterface(
        interface_id=f"eni-{address}",
        private_ip=address,
        private_dns_hostname="",
        subnet_id="subnet-1",
        subnet_cidr="10.0.0.0/24",
        availability_zone="",
        availability_zone_id="",
        vpc_id="vpc-1",
    )
    return made


HEAD, WORKER = placed("head", "10.0.0.4"), placed("cpu", "10.0.0.5")


def demo() -> Cluster:
    workers = group("cpu", vpc_config=VpcConfig(("sg-2",), ("subnet-1",)))
    return cluster(group("head"), workers, nodes=[HEAD, WORKER])


def paths(**ingress: tuple[Rule, ...]) -> VpcPaths:
    """Return the VPC with groups that let in what is given, by the word in their names."""
    rules = {f"sg-{name.lstrip('_')}": each for name, each in ingress.items()}
    gateway: Any = SimpleNamespace(
        shared_file_systems=lambda: (
            SharedFileSystem("fs-1", "fs-1.fsx@tcp:/abc", ("eni-files", "eni-elsewhere")),
        ),
        database_servers=lambda: (
            DatabaseServer(
                identifier="records",
                endpoint="records.rds",
                port=3306,
                private_ip=RECORDS.address,
                subnet_cidr="10.0.0.0/24",
                vpc_id="vpc-1",
                secret_arn="",
                parameters={},
                interface_id="eni-records",
            ),
        ),
        vpc_graph=lambda *_: Graph(
            subnets={"subnet-1": Subnet("subnet-1", "vpc-1", "10.0.0.0/24", "", "")},
            groups={
                id_: Group(id_, rules.get(id_, ()), OPEN_OUT)
                for id_ in ("sg-1", "sg-2", "sg-files", "sg-records")
            },
            interfaces={"eni-files": FILES, "eni-records": RECORDS},
        ),
    )
    return VpcPaths.of(gateway, demo())


def lost(of: VpcPaths, node_: ClusterNode) -> list[tuple[str, int]]:
    return [(each.server.what, each.server.port) for each in of.lost(demo(), [HEAD], node_)]


def from_group(id_: str) -> tuple[Rule, ...]:
    return (Rule("-1", groups=(id_,)),)


EVERYBODY = (Rule("-1", groups=("sg-1", "sg-2")),)


def test_open_groups_stop_nothing() -> None:
    reached = paths(_1=EVERYBODY, _2=EVERYBODY, files=EVERYBODY, records=EVERYBODY)
    assert lost(reached, HEAD) == lost(reached, WORKER) == []


def test_each_node_loses_what_its_own_group_is_kept_from() -> None:
    only_heads = paths(
        _1=EVERYBODY, _2=EVERYBODY, files=from_group("sg-1"), records=from_group("sg-2")
    )
    assert lost(only_heads, HEAD) == [("records.rds", 3306)]
    assert lost(only_heads, WORKER) == [("fs-1", 988)]  # workers need no database


def test_slurm_and_ssh_between_nodes_are_lost_port_by_port() -> None:
    one_way = paths(
        _1=(Rule("tcp", 6817, 6817, groups=("sg-2",)),),
        _2=(Rule("tcp", 22, 22, groups=("sg-1",)),),
        files=EVERYBODY,
        records=EVERYBODY,
    )
    srun = 32768
    assert lost(one_way, HEAD) == [("10.0.0.5", 6818), ("10.0.0.5", srun)]
    assert lost(one_way, WORKER) == [("10.0.0.4", 6819), ("10.0.0.4", 22), ("10.0.0.4", srun)]


SERVICES = tuple(
    Rule("tcp", port, last, groups=("sg-1", "sg-2")) for port, last in ((22, 22), (6817, 6819))
)


def with_rules(head: tuple[Rule, ...], worker: tuple[Rule, ...]) -> list[str]:
    shut = paths(_1=head, _2=worker, files=EVERYBODY, records=EVERYBODY)
    return [each.message.partition(":")[0] for each in shut.lost(demo(), [HEAD], HEAD)]


def test_ports_of_srun_are_lost_where_none_is_let_through_either_way() -> None:
    assert with_rules(SERVICES, SERVICES) == ["it does not reach 10.0.0.5 at tcp 32768-60999"]
    for_srun = (*SERVICES, Rule("tcp", 60001, 63000, groups=("sg-1", "sg-2")))
    assert with_rules(SERVICES, for_srun) == with_rules(for_srun, SERVICES) == []


def test_scripts_wait_for_what_they_name_and_for_the_controller() -> None:
    shut = paths().lost(demo(), [HEAD], HEAD)
    assert named_in({"on_create.sh": b"echo"}, shut) is None
    waited_for = named_in({"settings.json": b'{"source": "fs-1.fsx@tcp:/abc"}'}, shut)
    assert waited_for is not None
    assert waited_for.message == (
        "it does not reach fs-1 at tcp 988: "
        "sg-files has no inbound rule for tcp 988 from 10.0.0.4 (sg-1)"
    )
    of_worker = named_in({}, paths(files=EVERYBODY).lost(demo(), [HEAD], WORKER))
    assert of_worker is not None
    assert of_worker.server.port == 6817
