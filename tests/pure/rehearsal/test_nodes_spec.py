"""What a machine may be called, and where its files may lie."""

from __future__ import annotations

from ipaddress import IPv4Interface

import pytest

from slurmpod.rehearsal.nodes.spec import File, MachineSpec

ADDRESS = IPv4Interface("10.1.0.10/24")


@pytest.mark.parametrize("hostname", ["ip-10-1-0-10", "a", "a" * 63])
def test_host_names(hostname: str) -> None:
    assert MachineSpec(hostname, ADDRESS).hostname == hostname


@pytest.mark.parametrize("hostname", ["", "-a", "a-", "A", "../a", "a/b", "a b", "a.b", "a" * 64])
def test_what_is_no_host_name(hostname: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        MachineSpec(hostname, ADDRESS)


def test_relative_paths_are_refused() -> None:
    files = {"/etc/ok": File(b""), "etc/passwd": File(b"")}
    with pytest.raises(ValueError, match="must be absolute: etc/passwd"):
        MachineSpec("a", ADDRESS, files)


def test_the_router_has_the_first_address_of_the_subnet() -> None:
    assert str(MachineSpec("a", ADDRESS).gateway) == "10.1.0.1"


def test_others_find_it_by_all_its_names() -> None:
    assert (
        MachineSpec("a", ADDRESS, aliases=("db.example",)).hosts_line == "10.1.0.10 a db.example\n"
    )


def test_the_interface_of_an_address_is_always_the_same() -> None:
    assert MachineSpec("a", ADDRESS).hardware_address == "02:00:0a:01:00:0a"
