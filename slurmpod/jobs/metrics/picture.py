"""A run as a picture (SVG): loss and throughput over steps, a colour for each life."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from slurmpod.jobs.metrics.log import Life
from slurmpod.jobs.metrics.measures import throughput

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP, BOTTOM = 760, 190, 76, 20, 72, 46, 46
COLOURS = ("#0b6fb8", "#c0392b", "#2e8b57", "#8e44ad", "#b9770e", "#444444")
MOST_POINTS = 2000
"""Maximum of points of a line: more than the pixels of a picture."""

Point = tuple[float, float]


def picture(title: str, subtitle: str, run: Sequence[Life]) -> str:
    """Return the picture, without the lower panel if the log has no throughput."""
    panels: list[tuple[str, list[list[Point]]]] = [
        ("loss", [[(each.step, each.loss) for each in life.reports] for life in run])
    ]
    rates: list[list[Point]] = [[(step, rate) for step, rate in throughput(life)] for life in run]
    if any(rates):
        panels.append(("samples per second", rates))
    steps = [each.step for life in run for each in life.reports]
    span = (min(steps), max(*steps, min(steps) + 1))
    height = TOP + len(panels) * PANEL + (len(panels) - 1) * GAP + BOTTOM
    drawn = [
        line
        for number, (name, lines) in enumerate(panels)
        for line in _panel(name, lines, span, TOP + number * (PANEL + GAP))
    ]
    drawn += _restarts(run, span, height)
    drawn += _steps(span, height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
        f'<text x="{LEFT}" y="20" font-size="15">{escape(title)}</text>\n'
        f'<text x="{LEFT}" y="38" fill="#555555">{escape(subtitle)}</text>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def _panel(name: str, lines: list[list[Point]], span: Point, top: int) -> Iterator[str]:
    values = [value for line in lines for _, value in line]
    ticks = _ticks(min(0.0, *values) if name != "loss" else min(values), max(values))
    low, high = ticks[0], ticks[-1]

    def height(value: float) -> float:
        return top + PANEL - PANEL * (value - low) / (high - low)

    yield f'<text x="{LEFT}" y="{top - 6}" font-weight="bold">{name}</text>'
    for tick in ticks:
        y = height(tick)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'
    for number, line in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        points = line[:: max(1, math.ceil(len(line) / MOST_POINTS))]
        path = " ".join(f"{_x(step, span):.1f},{height(value):.1f}" for step, value in points)
        if len(points) == 1:
            left, _, down = path.partition(",")
            yield f'<circle cx="{left}" cy="{down}" r="2" fill="{colour}"/>'
        elif points:
            yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _restarts(run: Sequence[Life], span: Point, height: int) -> Iterator[str]:
    """Yield a dashed line at the start of each later life."""
    for number, life in enumerate(run[1:], start=1):
        x, colour = _x(life.reports[0].step, span), COLOURS[number % len(COLOURS)]
        yield (
            f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{height - BOTTOM}"'
            f' stroke="{colour}" stroke-dasharray="4 3"/>'
        )


def _steps(span: Point, height: int) -> Iterator[str]:
    for tick in _ticks(*span):
        if span[0] <= tick <= span[1] and tick.is_integer():
            x, y = _x(tick, span), height - BOTTOM + 18
            yield f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{tick:g}</text>'
    yield f'<text x="{WIDTH - RIGHT}" y="{height - 8}" text-anchor="end">step</text>'


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers around a range, about five of them."""
    width = (high - low) or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(width / 5))
    step = next(unit * each for each in (1, 2, 5, 10) if width / (unit * each) <= 5.000001)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _x(step: float, span: Point) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (step - span[0]) / (span[1] - span[0])
