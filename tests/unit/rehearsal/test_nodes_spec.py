"""What a machine may be called, and where its files may lie."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from slurmpod.rehearsal.nodes.spec import File, MachineSpec

ADDRESS = IPv4Address("10.1.0.10")


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
