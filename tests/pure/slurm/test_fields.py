"""Fields of what scontrol prints in one line: found by their whole name, with all their words."""

from __future__ import annotations

import pytest

from slurmpod.slurm.fields import value_of

LINE = "NodeName=ip-1 Gres=(null) SlurmdVersion=26.05 OS=Linux 6.8 #1 SMP Version=x Reason=None"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NodeName", "ip-1"),
        ("Version", "x"),
        ("OS", "Linux 6.8 #1 SMP"),
        ("Gres", ""),
        ("Reason", ""),
        ("Comment", ""),
    ],
)
def test_a_field_is_read_whole_and_is_empty_where_slurm_has_nothing(name: str, value: str) -> None:
    assert value_of(LINE, name) == value
