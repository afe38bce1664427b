"""Changes of an environment for people: the value, old and new, and the effect."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from slurmpod.changes.change import Change
from slurmpod.changes.compare import IDENTITIES
from slurmpod.environment.base import Effect, Kind
from slurmpod.problem_text import BOLD, RED, YELLOW, paint
from slurmpod.problems import counted, first_of
from slurmpod.reading.yaml_source import YamlSource

COLOURS = {Kind.LOSES: RED, Kind.REPLACES: RED, Kind.REFUSED: RED, Kind.NEW_NODES: YELLOW}
LONGEST_VALUE = 60
NAMES_SHOWN = 3


def changes_text(found: Sequence[Change], name: str, source: YamlSource) -> str:
    """Return the changes of the environment `name` with their places in the file, and a count."""
    what = counted(len(found), "change") if found else "no changes"
    return "".join(_paragraph(change, source) for change in found) + f"{name}: {what}\n"


def as_data(change: Change) -> dict[str, Any]:
    """Return a change as plain data, with whole values."""
    return {
        "path": change.path,
        "old": change.old,
        "new": change.new,
        "kind": change.effect.kind,
        "meaning": change.effect.meaning,
        "source": change.effect.source,
        "doubt": change.effect.doubt,
    }


def values_text(old: Any, new: Any) -> str:
    """Return `old -> new`: short values in full, long ones as a count and the differences."""
    if _fits(old) and _fits(new):
        return f"{_written(old)} -> {_written(new)}"
    shown = f"{_counted(old)} -> {_counted(new)}"
    if not (isinstance(old, Mapping | list) and isinstance(new, Mapping | list)):
        return shown
    before, after = dict(_entries(old)), dict(_entries(new))
    differences = {
        "new": [name for name in after if name not in before],
        "gone": [name for name in before if name not in after],
        "changed": [name for name in after if name in before and before[name] != after[name]],
    }
    parts = [f"{word}: {first_of(each, NAMES_SHOWN)}" for word, each in differences.items() if each]
    return f"{shown} ({'; '.join(parts) or 'in another order'})"


def kind_text(change: Change, stream: TextIO) -> str:
    """Return the kind of a change, coloured if the stream supports it."""
    return paint(change.effect.kind, COLOURS.get(change.effect.kind, BOLD), stream)


def _paragraph(change: Change, source: YamlSource) -> str:
    return (
        f"{kind_text(change, sys.stdout)}: {change.path}: {values_text(change.old, change.new)}\n"
        f"  {change.effect.meaning}\n"
        f"{_proof(change.effect)}"
        f"  {source.where(change.new_path)}\n"
    )


def _proof(effect: Effect) -> str:
    """Return the source of a claim, and its doubts if there are any."""
    source = f"  source: {effect.source}\n" if effect.source else ""
    return source + (f"  not proven: {effect.doubt}\n" if effect.doubt else "")


def _fits(value: Any) -> bool:
    """Return whether a value is short enough to show; a section shows its keys instead."""
    return not isinstance(value, Mapping) and len(_written(value)) <= LONGEST_VALUE


def _written(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)


def _counted(value: Any) -> str:
    """Return the size of a long value, with the first names in it."""
    if isinstance(value, str):
        return f"a text of {counted(len(value), 'character')}"
    if not isinstance(value, Mapping | list):
        return _written(value)
    names = [name for name, _ in _entries(value)]
    what = "key" if isinstance(value, Mapping) else "entry"
    if not names:
        return f"no {'keys' if what == 'key' else 'entries'}"
    count = counted(len(names), what) if what == "key" else _entries_counted(len(names))
    return f"{count}: {first_of(names, NAMES_SHOWN)}"


def _entries_counted(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _entries(value: Mapping[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names of a section's keys or a list's entries."""
    if isinstance(value, Mapping):
        yield from ((key, each) for key, each in value.items() if each not in (None, [], {}))
        return
    for index, each in enumerate(value):
        yield _name(each, index), each


def _name(entry: Any, index: int) -> str:
    if not isinstance(entry, Mapping):
        text = str(entry)
        return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE // 2]}..."
    return next((str(entry[key]) for key in IDENTITIES if entry.get(key)), f"number {index + 1}")
