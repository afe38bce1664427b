"""Pictures of panels: what they show is what the queries found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

import pytest

from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.metrics.panel import Form, Panel
from slurmpod.metrics.picture import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Series,
    dashboard_picture,
    panel_picture,
    series_name,
    value_text,
)
from slurmpod.operations.panel_pictures import pictures

SVG = "{http://www.w3.org/2000/svg}"
BUSY = Panel("Processors <busy>", {"{{node}}": "busy"}, unit="percentunit", maximum=1)


def texts(picture: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314  # ours


def lines(picture: str) -> list[list[tuple[float, float]]]:
    found = ElementTree.fromstring(picture).iter(f"{SVG}polyline")  # noqa: S314  # ours
    pairs = ([pair.split(",") for pair in each.attrib["points"].split()] for each in found)
    return [[(float(x), float(y)) for x, y in line] for line in pairs]


def test_a_line_goes_from_the_first_time_to_the_last_and_from_nothing_to_the_most() -> None:
    picture = panel_picture(BUSY, [Series("a", [(0, 0.0), (30, 0.5), (60, 1.0)])])
    ((first, middle, last),) = lines(picture)
    assert first == (LEFT, HEIGHT - BOTTOM)
    assert middle == ((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2)
    assert last == (WIDTH - RIGHT, TOP)
    shown = texts(picture)
    assert {"Processors <busy>", "0 %", "50 %", "100 %", "a"} <= set(shown)
    assert "00:00:00 UTC" in shown
    assert "00:01:00 UTC" in shown


def test_values_below_nothing_have_room() -> None:
    panel = Panel("Network", {}, unit="Bps")
    (line,) = lines(panel_picture(panel, [Series("out", [(0, -2000.0), (60, 0.0)])]))
    assert line == [(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, TOP)]
    assert "-2 kB/s" in texts(panel_picture(panel, [Series("out", [(0, -2000.0)])]))


def test_stacked_series_stand_on_each_other() -> None:
    panel = Panel("Nodes", {}, form=Form.STACK)
    series = [Series("idle", [(0, 1.0), (60, 1.0)]), Series("down", [(0, 1.0), (60, 3.0)])]
    idle, down = lines(panel_picture(panel, series))
    assert [y for _, y in down][1] == TOP
    assert down[0][1] < idle[0][1]


def test_numbers_are_the_last_ones() -> None:
    panel = Panel("Nodes", {}, form=Form.NUMBER)
    picture = panel_picture(panel, [Series("nodes", [(0, 3.0), (60, 1500.0)])])
    assert {"1.5 k", "nodes"} <= set(texts(picture))
    assert lines(picture) == []


@pytest.mark.parametrize("series", [[], [Series("a", [])]])
def test_what_has_no_data_says_so(series: list[Series]) -> None:
    assert "no data" in texts(panel_picture(BUSY, series))


def test_what_a_legend_has_no_room_for_is_counted() -> None:
    many = [Series(f"node-{number}", [(0, 0.1), (60, 0.2)]) for number in range(9)]
    assert "and 3 more" in texts(panel_picture(BUSY, many))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.123, "percentunit", "12.3 %"),
        (1536.0, "bytes", "1.5 KiB"),
        (2.5e9, "Bps", "2.5 GB/s"),
        (61.0, "celsius", "61 °C"),
        (0.0, "short", "0"),
        (3.0, "unknown", "3"),
    ],
)
def test_values_have_their_units(value: float, unit: str, text: str) -> None:
    assert value_text(value, unit) == text


def test_series_are_named_by_their_labels() -> None:
    assert series_name("{{node}} in", {"node": "ip-1"}) == "ip-1 in"


def test_a_dashboard_is_one_picture_of_all_its_panels() -> None:
    for dashboard in DASHBOARDS:
        shown = texts(dashboard_picture(dashboard, {}))
        assert shown[0] == dashboard.title
        assert {panel.title for panel in dashboard.panels} <= set(shown)


class Prometheus:
    """Answers every query with a line, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float, float, float]] = []

    def range(
        self, query: str, begin: float, end: float, step_seconds: float
    ) -> Sequence[tuple[Mapping[str, str], Sequence[tuple[float, float]]]]:
        self.asked.append((query, begin, end, step_seconds))
        return [({"node": "ip-10-0-0-7"}, [(begin, 0.0), (end, 1.0)])]


def test_pictures_show_the_last_hour_of_all_nodes() -> None:
    prometheus = Prometheus()
    drawn = dict(pictures(DASHBOARDS, prometheus, now=7200.0, scrape_seconds=30))
    assert drawn.keys() == {dashboard.uid for dashboard in DASHBOARDS}
    assert "ip-10-0-0-7" in drawn["slurmpod-cluster"]
    assert {each[1:] for each in prometheus.asked} == {(3600.0, 7200.0, 30.0)}
    assert not [query for query, *_ in prometheus.asked if "$" in query]
    assert any("[120s]" in query for query, *_ in prometheus.asked)
