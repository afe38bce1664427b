"""PyTorch's flight recorder: ranks that have not reached a collective that others are in.

A dump is a pickle or JSON, as `torch/distributed/flight_recorder` of PyTorch reads it: the
collectives (`entries`) of one rank, and the groups that it belongs to (`pg_config`).
"""

from __future__ import annotations

import ast
import json
import pickle
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

PREFIX = "flight_"
"""The prefix of a dump's name; the rank follows."""


@dataclass(frozen=True)
class Missing:
    """A collective that `ranks` have not reached, and the ranks that wait there for them."""

    collective: str
    ranks: tuple[int, ...]
    waiting: tuple[int, ...]


class _Plain(pickle.Unpickler):
    """Reads plain values only: a dump is not trusted."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"a dump has no {module}.{name}")


def dumps_in(folder: Path) -> dict[int, Any]:
    """Return the dumps of a folder by rank, without those that cannot be read."""
    found = {}
    for path in folder.glob(f"{PREFIX}*"):
        rank = path.name.removeprefix(PREFIX)
        dump = _dump(path)
        if rank.isdecimal() and isinstance(dump, dict):
            found[int(rank)] = dump
    return found


def missing(dumps: Mapping[int, Any]) -> Missing | None:
    """Return the collective that some ranks have not reached; None if all are equally far.

    Of several groups it is the one in which a rank has waited longest.
    """
    last: defaultdict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    members: dict[str, set[int]] = {}
    for rank, dump in dumps.items():
        groups = dump.get("pg_config", {})
        for group in groups.values():
            members.setdefault(str(group["name"]), set(_ranks(group["ranks"])))
        for entry in dump.get("entries", ()):
            if not entry.get("is_p2p"):
                last[str(entry["process_group"][0])][rank] = entry
    found = [
        (since, each)
        for group, by_rank in last.items()
        for since, each in _behind(by_rank, members.get(group, set(by_rank)) & set(dumps))
    ]
    return min(found, key=lambda each: each[0])[1] if found else None


def _behind(by_rank: Mapping[int, dict[str, Any]], group: set[int]) -> list[tuple[int, Missing]]:
    reached = {rank: int(entry["collective_seq_id"]) for rank, entry in by_rank.items()}
    furthest = max(reached.values())
    late = tuple(sorted(rank for rank in group if reached.get(rank, 0) < furthest))
    waiting = tuple(sorted(rank for rank, number in reached.items() if number == furthest))
    if not late:
        return []
    entry = by_rank[waiting[0]]
    name = f"{entry['profiling_name']} {furthest} of the group {entry['process_group'][1]}"
    return [(int(entry.get("time_created_ns", 0)), Missing(name, late, waiting))]


def _ranks(listed: object) -> list[int]:
    return list(ast.literal_eval(listed)) if isinstance(listed, str) else list(listed)  # type: ignore[call-overload]


def _dump(path: Path) -> object:
    content = path.read_bytes()
    try:
        return json.loads(content)
    except ValueError:
        pass
    try:
        with path.open("rb") as file:
            found: object = _Plain(file).load()
    except Exception:  # noqa: BLE001 - whatever is in the file: it is no dump
        return None
    return found
