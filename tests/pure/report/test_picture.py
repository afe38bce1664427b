"""The picture: nothing overlaps, every line ends at what it is tied to, nothing is left out."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from slurmpod.reading.read import read
from slurmpod.report.cards import MOST_GROUPS
from slurmpod.report.picture import Box, Picture, picture_of
from slurmpod.resolve import resolve
from tests.golden_files import ROOT
from tests.pure.plan.planned import resolved
from tests.sound_environment import sound_data

FILES = sorted((ROOT / "environments").rglob("[!_]*.yaml"))
FRAMES = ("vpc", "public", "private")


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def picture(request: pytest.FixtureRequest) -> Picture:
    file: Path = request.param
    return picture_of(resolve(read(file)))


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def test_cards_do_not_overlap(picture: Picture) -> None:
    cards = [box for box in picture.boxes if box.kind not in FRAMES]
    assert [pair for pair in combinations(cards, 2) if overlap(*pair)] == []


def test_all_of_it_is_in_the_picture(picture: Picture) -> None:
    for box in picture.boxes:
        assert box.x >= 0
        assert box.x + box.width <= picture.width
        assert box.y + box.height <= picture.height


def test_lines_end_at_boxes_and_lanes(picture: Picture) -> None:
    edges = {edge for box in picture.boxes for edge in (box.y, box.y + box.height)}
    for lane in picture.lanes:
        for tie in lane.ties:
            at_lane, at_box = (tie.top, tie.bottom) if tie.is_at_top else (tie.bottom, tie.top)
            assert at_lane == lane.y
            assert at_box in edges
            assert tie.top < tie.bottom
            assert lane.left <= tie.x <= lane.right


def test_lanes_are_apart(picture: Picture) -> None:
    heights = [lane.y for lane in picture.lanes]
    assert len(set(heights)) == len(heights)


def test_every_group_has_a_card() -> None:
    titles = {box.title for box in picture_of(resolved()).boxes}
    assert titles >= {"controller", "workers", "/fsx", "VPC 10.0.0.0/16", "People", "Internet"}


def test_many_groups_share_a_card() -> None:
    cluster = sound_data()["cluster"]
    cluster["groups"] += [{**cluster["groups"][1], "name": f"more{n}"} for n in range(50)]
    picture = picture_of(resolved(cluster=cluster))
    more = [box for box in picture.boxes if box.title == f"{52 - MOST_GROUPS} more groups"]
    assert [box.lines for box in more] == [("88 nodes",)]


def test_a_long_name_is_cut_and_can_be_read_by_pointing_at_it() -> None:
    cluster = sound_data()["cluster"]
    cluster["groups"][1]["name"] = "a-group-with-a-very-long-name"
    (card,) = [each for each in picture_of(resolved(cluster=cluster)).boxes if "…" in each.title]
    assert card.full.startswith("a-group-with-a-very-long-name, ")
