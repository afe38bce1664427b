"""Slurm's hostlists, such as `ip-10-0-1-[4-7,9]`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

_PART = re.compile(r"[^,\[]*(?:\[[^\]]*\][^,\[]*)*")
_RANGES = re.compile(r"\[([^\]]*)\]")


def expanded(hostlist: str) -> list[str]:
    """Return the names in a hostlist, in its order."""
    return [name for part in _parts(hostlist) for name in _names(part)]


def folded(names: Iterable[str]) -> str:
    """Return a sorted hostlist of names; the last numbers become ranges."""
    numbers: dict[tuple[str, int], set[int]] = {}
    others = set()
    for name in names:
        found = re.fullmatch(r"(.*?)(\d+)", name)
        if found is None:
            others.add(name)
            continue
        prefix, digits = found.groups()
        width = len(digits) if digits.startswith("0") else 0
        numbers.setdefault((prefix, width), set()).add(int(digits))
    together = [_fold(prefix, width, found) for (prefix, width), found in sorted(numbers.items())]
    return ",".join([*together, *sorted(others)])


def _parts(hostlist: str) -> Iterator[str]:
    at = 0
    while at < len(hostlist):
        found = _PART.match(hostlist, at)
        part = found.group() if found else ""
        if part:
            yield part
        at += len(part) + 1


def _names(part: str) -> Iterator[str]:
    texts = _RANGES.split(part)  # text, ranges, text, ranges, ..., text
    choices = [_numbers(text) if position % 2 else [text] for position, text in enumerate(texts)]
    yield from ("".join(each) for each in product(*choices))


def _numbers(ranges: str) -> list[str]:
    found: list[str] = []
    for text in ranges.split(","):
        first, _, last = text.partition("-")
        if last.isdecimal() and first.isdecimal():
            found += [f"{n:0{len(first)}d}" for n in range(int(first), int(last) + 1)]
        else:
            found.append(text)
    return found


def _fold(prefix: str, width: int, numbers: set[int]) -> str:
    ranges = [
        f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"
        for first, last in _runs(sorted(numbers))
    ]
    if len(numbers) == 1:
        return f"{prefix}{ranges[0]}"
    return f"{prefix}[{','.join(ranges)}]"


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
