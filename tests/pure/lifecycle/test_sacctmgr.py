from __future__ import annotations

import pytest

from slurmpod_lifecycle.sacctmgr import amounts, changes, table
from slurmpod_lifecycle.settings import Value
from tests.pure.lifecycle.fakes import FakeMachine

SHOW = "/opt/slurm/bin/sacctmgr --noheader --parsable2 show qos format=Name,Priority"


def test_rows_are_read_by_column_and_empty_cells_stay() -> None:
    machine = FakeMachine()
    machine.reply(SHOW, "normal|0\nhigh|\n")
    rows = table(machine, "qos", ("Name", "Priority"))
    assert rows == [{"Name": "normal", "Priority": "0"}, {"Name": "high", "Priority": ""}]


def test_a_bar_in_what_somebody_wrote_by_hand_does_no_harm() -> None:
    machine = FakeMachine()
    machine.reply("/opt/slurm/bin/sacctmgr", "research|this|that\n")
    columns = ("Account", "Description")
    assert table(machine, "account", columns) == [{"Account": "research", "Description": "this"}]


def test_only_a_line_feed_ends_a_row() -> None:
    machine = FakeMachine()
    machine.reply("/opt/slurm/bin/sacctmgr", "research|this\u2028that\n")
    (row,) = table(machine, "account", ("Account", "Description"))
    assert row["Description"] == "this\u2028that"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", {}),
        ("cpu=8,gres/gpu=2,node=1", {"cpu": 8, "gres/gpu": 2, "node": 1}),
        ("mem=1000M", {"mem": 1000}),
        ("mem=2T", {"mem": 2 * 1024 * 1024}),
        ("mem=1.50G", {"mem": 1536}),
        ("mem=512", {"mem": 512}),
    ],
)
def test_amounts_are_read_in_mebibytes(text: str, read: dict[str, int]) -> None:
    assert amounts(text) == read


@pytest.mark.parametrize(
    ("wanted", "shown", "change"),
    [
        ("10", "10", None),
        ("10", "0", "10"),
        ("", "", None),
        ("", "1-00:00:00", "-1"),
        (["high", "low"], "low,high", None),
        (["high"], "high,low", "high"),
        ([], "", None),
        ([], "low", ""),
        ({"mem": 1024}, "mem=1G", None),
        ({"cpu": 4, "node": 1}, "cpu=8", "cpu=4,node=1"),
        ({}, "cpu=8,gres/gpu=2", "cpu=-1,gres/gpu=-1"),
        ({"cpu": 4}, "cpu=4,node=2", "cpu=4,node=-1"),
    ],
)
def test_only_differences_are_set_and_limits_taken_back(
    wanted: Value, shown: str, change: str | None
) -> None:
    expected = [] if change is None else [f"Option={change}"]
    assert changes({"Option": wanted}, {"Option": shown}) == expected


def test_options_that_nobody_asked_for_are_left_alone() -> None:
    assert changes({}, {"GraceTime": "10"}) == []
