"""Panels of dashboards as pictures (SVG), from the results of their queries. Pure.

Grafana draws the same panels better; these are for rehearsals and reports, which have no Grafana.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree import ElementTree

from slurmpod.metrics.panel import Dashboard, Form, Panel

WIDTH, HEIGHT = 460.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 14.0, 34.0, 58.0
COLUMNS = 2
GAP = 12.0
COLOURS = ("#0b6fb8", "#c0392b", "#2e8b57", "#8e44ad", "#b9770e", "#17a2b8", "#7f8c8d", "#d35400")
TICKS = 4
MOST_NAMED = 6
"""How many lines a legend names; as many as fit into its two rows."""

STYLE = "svg{background:#fff}text{font:11px sans-serif;fill:#333}"
_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_SCALES = {
    "bytes": (1024.0, ("B", "KiB", "MiB", "GiB", "TiB", "PiB")),
    "Bps": (1000.0, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")),
    "short": (1000.0, ("", "k", "M", "G")),
    "ops": (1000.0, ("/s", "k/s", "M/s")),
}
_SUFFIXES = {"celsius": " °C", "watt": " W", "s": " s"}


@dataclass(frozen=True)
class Series:
    """One line of a panel: its name, and points of epoch seconds and values, in order."""

    name: str
    points: Sequence[tuple[float, float]]


def series_name(legend: str, labels: Mapping[str, str]) -> str:
    """Return a panel's legend with the labels of one series filled in."""
    return _LABEL.sub(lambda found: labels.get(found[1], ""), legend)


def panel_picture(panel: Panel, series: Sequence[Series]) -> str:
    """Return a picture of one panel; the same series give the same text."""
    return _text(_panel(panel, series))


def dashboard_picture(dashboard: Dashboard, found: Mapping[str, Sequence[Series]]) -> str:
    """Return one picture of all panels, in rows; `found` has series by panel title."""
    rows = -(-len(dashboard.panels) // COLUMNS)
    page = _svg(COLUMNS * (WIDTH + GAP) + GAP, rows * (HEIGHT + GAP) + 40)
    _write(page, dashboard.title, x=GAP, y=26, style="font-size:17px")
    for number, panel in enumerate(dashboard.panels):
        picture = _panel(panel, found.get(panel.title, ()))
        picture.set("x", _number(GAP + number % COLUMNS * (WIDTH + GAP)))
        picture.set("y", _number(40 + number // COLUMNS * (HEIGHT + GAP)))
        page.append(picture)
    return _text(page)


def value_text(value: float, unit: str) -> str:
    """Return a value in one of Grafana's units, short enough for an axis."""
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    if unit not in _SCALES:
        return f"{value:.3g}{_SUFFIXES.get(unit, '')}"
    base, names = _SCALES[unit]
    power = 0
    while abs(value) >= base and power + 1 < len(names):
        value, power = value / base, power + 1
    return f"{value:.3g} {names[power]}".rstrip()


def _panel(panel: Panel, series: Sequence[Series]) -> ElementTree.Element:
    picture = _svg(WIDTH, HEIGHT)
    ElementTree.SubElement(
        picture,
        "rect",
        {"width": _number(WIDTH), "height": _number(HEIGHT), "fill": "none", "stroke": "#ccc"},
    )
    _write(picture, panel.title, x=12, y=20, style="font-weight:bold")
    drawn = [each for each in series if each.points]
    if not drawn:
        _write(picture, "no data", x=WIDTH / 2, y=HEIGHT / 2, anchor="middle")
    elif panel.form is Form.NUMBER:
        _draw_numbers(picture, panel, drawn)
    else:
        _draw_lines(picture, panel, drawn)
    return picture


def _draw_numbers(picture: ElementTree.Element, panel: Panel, series: Sequence[Series]) -> None:
    """Write the last value of each series, as large as fits."""
    step = WIDTH / len(series)
    for number, each in enumerate(series):
        x = step * (number + 0.5)
        value = value_text(each.points[-1][1], panel.unit)
        size = f"font-size:{min(48, step / 4):.0f}px"
        _write(picture, value, x=x, y=HEIGHT / 2 + 16, anchor="middle", style=size)
        _write(picture, each.name, x=x, y=HEIGHT - 24, anchor="middle")


def _draw_lines(picture: ElementTree.Element, panel: Panel, series: Sequence[Series]) -> None:
    """Draw axes, a line for each series (stacked if the panel says so) and a legend."""
    lines = list(_stacked(series)) if panel.form is Form.STACK else list(series)
    values = [value for line in lines for _, value in line.points]
    times = [second for line in lines for second, _ in line.points]
    low = min(0.0, *values)
    high = max(0.0, *values) if panel.maximum is None else panel.maximum
    frame = _Frame(min(times), max(times), low, high if high > low else low + 1.0)
    _draw_axes(picture, panel, frame)
    for number, line in enumerate(lines):
        points = " ".join(f"{_number(frame.x(s))},{_number(frame.y(v))}" for s, v in line.points)
        colour = COLOURS[number % len(COLOURS)]
        drawing = {"points": points, "fill": "none", "stroke": colour, "stroke-width": "1.6"}
        ElementTree.SubElement(picture, "polyline", drawing)
    _draw_legend(picture, [line.name for line in lines])


@dataclass(frozen=True)
class _Frame:
    """The range of times and values that a panel shows, and its place in the picture."""

    begin: float
    end: float
    low: float
    high: float

    def x(self, second: float) -> float:
        share = (second - self.begin) / ((self.end - self.begin) or 1.0)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def _draw_axes(picture: ElementTree.Element, panel: Panel, frame: _Frame) -> None:
    for tick in range(TICKS + 1):
        value = frame.low + (frame.high - frame.low) * tick / TICKS
        y = frame.y(value)
        ends = {"x1": LEFT, "x2": WIDTH - RIGHT, "y1": y, "y2": y}
        line = {name: _number(place) for name, place in ends.items()}
        ElementTree.SubElement(picture, "line", {**line, "stroke": "#e3e3e3"})
        _write(picture, value_text(value, panel.unit), x=LEFT - 6, y=y + 4, anchor="end")
    for second, anchor in ((frame.begin, "start"), (frame.end, "end")):
        clock = f"{datetime.fromtimestamp(second, UTC):%H:%M:%S} UTC"
        _write(picture, clock, x=frame.x(second), y=HEIGHT - BOTTOM + 16, anchor=anchor)


def _draw_legend(picture: ElementTree.Element, names: Sequence[str]) -> None:
    for number, name in enumerate(names[:MOST_NAMED]):
        x, y = LEFT + number % 3 * 128, HEIGHT - 24 + number // 3 * 15
        colour = COLOURS[number % len(COLOURS)]
        _write(picture, _cut(name), x=x, y=y, style=f"fill:{colour}")
    if len(names) > MOST_NAMED:
        more = f"and {len(names) - MOST_NAMED} more"
        _write(picture, more, x=WIDTH - RIGHT, y=TOP - 6, anchor="end")


def _stacked(series: Sequence[Series]) -> Iterator[Series]:
    """Yield each series stacked on those before it; a missing point adds nothing."""
    below: dict[float, float] = {}
    for each in series:
        for second, value in each.points:
            below[second] = below.get(second, 0.0) + value
        yield Series(each.name, sorted(below.items()))


def _cut(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"


def _svg(width: float, height: float) -> ElementTree.Element:
    size = {"width": _number(width), "height": _number(height)}
    box = f"0 0 {_number(width)} {_number(height)}"
    return ElementTree.Element("svg", {**size, "viewBox": box})


def _write(
    picture: ElementTree.Element,
    text: str,
    *,
    x: float,
    y: float,
    anchor: str = "start",
    style: str = "",
) -> None:
    attributes = {"x": _number(x), "y": _number(y), "text-anchor": anchor}
    if style:
        attributes["style"] = style
    ElementTree.SubElement(picture, "text", attributes).text = text


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(picture: ElementTree.Element) -> str:
    picture.set("xmlns", "http://www.w3.org/2000/svg")
    style = ElementTree.Element("style")
    style.text = STYLE
    picture.insert(0, style)
    return ElementTree.tostring(picture, encoding="unicode") + "\n"
