"""A chart of measurements by size, as SVG: lines, with the sizes on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 40, 50
COLOURS = ("#0b6fb8", "#c0392b", "#2e8b57", "#8e44ad", "#b9770e", "#444444")
TICKS = 5
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
Line = Sequence[tuple[float, float]]


def line_chart(title: str, unit: str, lines: Mapping[str, Line]) -> str:
    """Return the chart; each line has points of a size in bytes and a value in `unit`."""
    points = [point for line in lines.values() for point in line]
    highest = max((value for _, value in points), default=1.0) or 1.0
    sizes = sorted({size for size, _ in points})
    drawn = "\n".join((*_axes(sizes, highest, unit), *_lines(lines, sizes, highest)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n'
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>\n{drawn}\n</svg>\n'
    )


def size_text(size: float) -> str:
    """Return `64 KiB`: a size in the largest unit that fits."""
    power = min(int(math.log(size, 1024)) if size >= 1 else 0, len(UNITS) - 1)
    return f"{size / 1024**power:g} {UNITS[power]}"


def _axes(sizes: Sequence[float], highest: float, unit: str) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick in range(TICKS + 1):
        value = highest * tick / TICKS
        y = _y(value, highest)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
    for size in sizes[:: max(1, math.ceil(len(sizes) / 6))]:
        x = _x(size, sizes)
        yield f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{size_text(size)}</text>'
    yield f'<text x="{LEFT}" y="{HEIGHT - 8}">{escape(unit)}</text>'


def _lines(lines: Mapping[str, Line], sizes: Sequence[float], highest: float) -> Iterator[str]:
    for index, (name, line) in enumerate(lines.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{_x(size, sizes):.1f},{_y(value, highest):.1f}" for size, value in line)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        y = TOP + 16 * index + 10
        yield f'<text x="{WIDTH - RIGHT + 14}" y="{y}" fill="{colour}">{escape(name)}</text>'


def _x(size: float, sizes: Sequence[float]) -> float:
    span = math.log(sizes[-1] / sizes[0]) or 1.0
    return LEFT + (WIDTH - RIGHT - LEFT) * math.log(size / sizes[0]) / span


def _y(value: float, highest: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / highest
