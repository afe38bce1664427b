"""The rank that the others wait for, in a sentence, from the state of all ranks. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from flights import Missing

COLLECTIVE = re.compile(
    r"torch/distributed/(?!elastic/|run\.|launch)|\b(?:all_reduce|all_gather|reduce_scatter|"
    r"all_to_all|broadcast|barrier)\w*\b"
)
"""Frames of a rank that waits for others."""

LOADER = re.compile(r"torch/utils/data/|multiprocessing/(?:queues|connection)\.py")
LIBRARY = re.compile(r"/site-packages/|/dist-packages/|/lib/python3|/packages/torch/|<frozen")
STOPPED, DISK = "T", "D"
"""States of processes in /proc/PID/status."""


@dataclass(frozen=True)
class Rank:
    """One rank: its place, the state of the process and of its children, its stack.

    Each frame of the stack is `function (file:line)`, innermost first; empty if unknown. `waits` is
    its function in the kernel, `children` are process, state and name.
    """

    rank: int
    node: str
    pid: int
    state: str
    waits: str
    stack: tuple[str, ...]
    children: tuple[tuple[int, str, str], ...] = ()

    @property
    def is_in_collective(self) -> bool:
        """Whether its stack shows that it waits for other ranks."""
        return any(COLLECTIVE.search(frame) for frame in self.stack)

    @property
    def name(self) -> str:
        """Its position, for people."""
        return f"rank {self.rank} on {self.node} (process {self.pid})"

    @property
    def place(self) -> str:
        """The innermost frame of the program itself, with the innermost of all."""
        if not self.stack:
            return f"its stack is not known; the kernel has it in {self.waits or 'nothing'}"
        own = next((frame for frame in self.stack if not LIBRARY.search(frame)), self.stack[0])
        inner = "" if own == self.stack[0] else f", in {_short(self.stack[0])}"
        return f"it is at {_short(own)}{inner}"


def hanging(
    ranks: Sequence[Rank], silent: Sequence[str] = (), flight: Missing | None = None
) -> str:
    """Return the rank that the others wait for, and the evidence."""
    if silent:
        return f"{', '.join(silent)} did not answer: look at it first"
    if not ranks:
        return "no process of the training was found on its nodes"
    for find in (_stopped, _on_disk):
        if text := find(ranks):
            return text
    if flight:
        return _behind(ranks, flight)
    return _outside(ranks) or _deviating(ranks) or f"all ranks wait alike: {ranks[0].place}"


def slowest(samples: Sequence[Sequence[Rank]]) -> str:
    """Return the rank that the others wait for most of the time, from samples over some seconds."""
    busy: Counter[int] = Counter()
    shown: dict[int, Rank] = {}
    for sample in samples:
        for each in sample:
            is_stopped = bool(_stopped([each]))
            is_busy = is_stopped or (bool(each.stack) and not each.is_in_collective)
            busy[each.rank] += is_busy
            if is_busy or each.rank not in shown:
                shown[each.rank] = each
    order = busy.most_common(2)
    if not order or not order[0][1] or (len(order) > 1 and order[1][1] == order[0][1]):
        return "no rank stands out"
    rank, count = order[0]
    found = shown[rank]
    others = "others wait less" if len(order) > 1 else "it is the only one"
    why = _stopped([found]) or f"{found.name} is busy: {found.place}"
    return f"{why}; so it was in {count} of {len(samples)} looks, and {others}"


def _stopped(ranks: Sequence[Rank]) -> str:
    for each in ranks:
        if each.state == STOPPED:
            return f"{each.name} is stopped by a signal"
        for pid, state, name in each.children:
            if state == STOPPED:
                return (
                    f"{each.name} waits for its data: process {pid} ({name}), which it started, is"
                    " stopped by a signal"
                )
    return ""


def _on_disk(ranks: Sequence[Rank]) -> str:
    waiting = [each for each in ranks if each.state == DISK]
    loading = [each for each in ranks if any(state == DISK for _, state, _ in each.children)]
    if waiting and len(waiting) < len(ranks):
        return f"{waiting[0].name} waits for a disk or a file system ({waiting[0].waits})"
    if loading and len(loading) < len(ranks):
        return f"{loading[0].name} waits for its data: what loads it waits for a file system"
    return ""


def _behind(ranks: Sequence[Rank], flight: Missing) -> str:
    by_rank = {each.rank: each for each in ranks}
    first = by_rank.get(flight.ranks[0])
    name = first.name if first else f"rank {flight.ranks[0]}"
    more = f" (and {len(flight.ranks) - 1} more)" if len(flight.ranks) > 1 else ""
    place = f": {first.place}" if first else ""
    return f"{name}{more} has not come to {flight.collective}{place}"


def _outside(ranks: Sequence[Rank]) -> str:
    """Name ranks that are in no collective while others are; nothing without stacks."""
    outside = [each for each in ranks if each.stack and not each.is_in_collective]
    inside = [each for each in ranks if each.is_in_collective]
    if not inside or not outside or len(inside) + len(outside) < len(ranks):
        return ""
    first = outside[0]
    what = "waits for its data" if any(map(LOADER.search, first.stack)) else "has not come to it"
    return f"{_count(inside)} in a collective, and {first.name} {what}: {first.place}"


def _deviating(ranks: Sequence[Rank]) -> str:
    """Name a rank that is elsewhere than most, by its stack or its function in the kernel."""
    for places in ([each.stack[:1] for each in ranks], [each.waits for each in ranks]):
        common, count = Counter[object](places).most_common(1)[0]
        others = [each for each, place in zip(ranks, places, strict=True) if place != common]
        if others and common and count * 3 >= len(ranks) * 2:
            return f"{others[0].name} is elsewhere than {count} of {len(ranks)}: {others[0].place}"
    return ""


def _count(ranks: Sequence[Rank]) -> str:
    return f"rank {ranks[0].rank} waits" if len(ranks) == 1 else f"{len(ranks)} ranks wait"


def _short(frame: str) -> str:
    """Return a frame without the folders of its file."""
    return re.sub(r"\((?:[^()]*/)?([^/()]+)\)", r"(\1)", frame)
