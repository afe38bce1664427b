"""Which VPC has which network of a rehearsal, without any machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmpod.rehearsal.hyperpod.networks import Networks
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import further_network, network_of


class Machines:
    """Machines that never boot, and know the networks that were made beside theirs."""

    def __init__(self) -> None:
        self.is_closed = False
        self.others: list[Any] = []
        self.sources: list[str] = []

    def beside(self, directory: Path) -> Any:
        directory.mkdir(parents=True)
        self.others.append(Machines())
        return self.others[-1]

    def add_file_system(self, source: str, _: Path) -> None:
        self.sources.append(source)

    def close(self) -> None:
        self.is_closed = True


def make(folder: Path, connect: Any = lambda _: None) -> tuple[Networks, Any]:
    first: Any = Machines()
    return Networks(first, folder, connect), first


def test_the_first_vpc_has_the_network_that_is_there(tmp_path: Path) -> None:
    networks, first = make(tmp_path)
    assert networks.take("vpc-1", "demo") is networks.first
    assert networks.take("vpc-1", "RDS records") is networks.first
    assert first.others == []
    assert networks.first.machines is first
    assert network_of(tmp_path, "demo") == tmp_path


def test_another_vpc_has_one_of_its_own_which_is_found_by_its_cluster(tmp_path: Path) -> None:
    connected: list[object] = []
    networks, first = make(tmp_path, connected.append)
    networks.take("vpc-1", "demo")
    other = networks.take("vpc-2", "twin")
    assert [other.machines] == connected == first.others
    assert networks.take("vpc-2", "RDS records") is other
    assert network_of(tmp_path, "twin") == other.folder == further_network(tmp_path, 2)
    assert network_of(tmp_path, "demo") == network_of(tmp_path, "unknown") == tmp_path


def test_a_network_serves_another_vpc_once_its_last_user_has_left(tmp_path: Path) -> None:
    networks, first = make(tmp_path)
    for user in ("demo", "RDS records"):
        networks.take("vpc-1", user)
    networks.leave("demo")
    assert networks.take("vpc-2", "twin") is not networks.first
    networks.leave("RDS records")
    networks.leave("never came")
    assert networks.take("vpc-3", "demo") is networks.first
    assert len(first.others) == 1
    assert networks.take("vpc-1", "again") is not networks.first


def test_a_network_that_aws_cannot_be_reached_from_is_closed_and_not_used(tmp_path: Path) -> None:
    def refuse(_: object) -> None:
        raise MachineFailed("no such device")

    networks, first = make(tmp_path, refuse)
    networks.take("vpc-1", "demo")
    with pytest.raises(MachineFailed, match="no such device"):
        networks.take("vpc-2", "twin")
    assert first.others[0].is_closed
    assert network_of(tmp_path, "twin") == tmp_path


def test_file_systems_are_mounted_in_all_networks(tmp_path: Path) -> None:
    networks, first = make(tmp_path)
    networks.take("vpc-1", "demo")
    networks.take("vpc-2", "twin")
    networks.add_file_system("fs-1@tcp:/a", tmp_path)
    assert [each.sources for each in (first, *first.others)] == [["fs-1@tcp:/a"]] * 2
