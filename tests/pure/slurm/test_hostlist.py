"""Names of many nodes, as Slurm writes them."""

from __future__ import annotations

import pytest

from slurmpod.slurm.hostlist import expanded, folded


@pytest.mark.parametrize(
    ("hostlist", "names"),
    [
        ("", []),
        ("head", ["head"]),
        ("ip-10-0-1-[4-6,9]", ["ip-10-0-1-4", "ip-10-0-1-5", "ip-10-0-1-6", "ip-10-0-1-9"]),
        ("a[08-10],b", ["a08", "a09", "a10", "b"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
    ],
)
def test_a_hostlist_stands_for_names(hostlist: str, names: list[str]) -> None:
    assert expanded(hostlist) == names


def test_names_are_folded_by_their_last_number() -> None:
    names = ["login", "ip-10-0-1-9", "ip-10-0-1-5", "ip-10-0-2-4", "ip-10-0-1-4"]
    assert folded(names) == "ip-10-0-1-[4-5,9],ip-10-0-2-4,login"


def test_folding_is_undone_by_expanding() -> None:
    names = [f"ip-10-0-{n // 250}-{n % 250 + 4}" for n in range(0, 900, 7)] + ["n008", "n009"]
    assert sorted(expanded(folded(names))) == sorted(names)
