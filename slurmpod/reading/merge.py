"""Merging an environment file with its base; every value keeps its position.

The rules, which docs/extends.md shows with examples:

- Mappings are merged key by key. Keys of only one of the two files stay unchanged.
- Every other value of the file replaces the base's as a whole: text, numbers, lists.
- An explicit `null` removes a key of the base, so that its default applies again. If `null` has
  another meaning than the default, that meaning applies: `storage.lustre: null` is no file system.
  An omitted value (`tags:`) removes nothing; it is a mistake, as in every file.
- Lists of mappings with a `name` are merged by name: an entry with the name of an entry of the base
  is merged into it, others are appended. `[]` replaces such a list like any other value. Where
  entries are for different processors, as packages are, they have the `architecture` in common too.
  What is accepted has no name (`suppress`): it goes by its `rule`.
- `remove: true` in such an entry, beside its name and nothing else, takes the base's entry away.

What comes from the base keeps its order; what is new follows in the order of the file. No entry is
lost silently: where a name stands twice in one file, so it does in the result, for rules to find.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any, get_args

from slurmpod.environment.lifecycle import USUAL_ARCHITECTURE
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import YamlPath
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.value import Value

NAMES = ("name", "rule")
"""The key that identifies an entry of a list: for accepted warnings, which have no name, their
rule.
"""

REMOVE = "remove"
ARCHITECTURE = "architecture"


def merged(base: YamlSource, source: YamlSource) -> YamlSource:
    """Return `source` merged with its base, under the name of `source`; both stay unchanged.

    Problems of both are kept; an entry that removes nothing is one more.
    """
    result = YamlSource(source.file, problems=[*base.problems, *source.problems])
    top = _Part(source, (), source.data)
    result.data = _Merge(result).value((), top, _Part(base, (), base.data))
    return result


def without_base(source: YamlSource) -> YamlSource:
    """Return `source` without entries with `remove`, each of which is a problem without a base."""
    if any(_is_removal(path) for path in source.keys):
        return merged(YamlSource(source.file, {}), source)
    return source


class _Part(Value):
    """A value in one of the two files."""

    source: YamlSource
    path: YamlPath
    data: Any

    def inside(self) -> dict[Any, _Part]:
        """Return the items of a mapping or a list, by key or index."""
        items = self.data.items() if isinstance(self.data, dict) else enumerate(self.data)
        return {key: _Part(self.source, (*self.path, key), value) for key, value in items}

    def is_null(self) -> bool:
        return self.data is None and self.path not in self.source.blanks

    def name(self) -> str:
        """Return the name of an entry of a list; empty if it has none."""
        name = self.data.get(_name_key(self.data)) if isinstance(self.data, dict) else None
        return name if isinstance(name, str) else ""

    def architecture(self) -> Any:
        """Return the second part of an entry's identity: its processor architecture."""
        return self.data.get(ARCHITECTURE, USUAL_ARCHITECTURE)


class _Merge:
    """Merges values; `result` records the position of each, and failed removals."""

    def __init__(self, result: YamlSource) -> None:
        self._result = result

    def value(self, path: YamlPath, part: _Part, base: _Part | None = None) -> Any:
        """Return `part` merged with `base`, for `path` of the result."""
        self._note(path, part)
        if isinstance(part.data, dict):
            return self._mapping(path, part, base if base and isinstance(base.data, dict) else None)
        if isinstance(part.data, list):
            pairs = self._pairs(part, base if base and _go_by_name(base.data, part.data) else None)
            return [self.value((*path, index), *pair) for index, pair in enumerate(pairs)]
        return part.data

    def _note(self, path: YamlPath, part: _Part) -> None:
        self._result.values[path] = part.source.values[part.path]
        if part.path in part.source.keys:
            self._result.keys[path] = part.source.keys[part.path]
        if part.path in part.source.doubtful:
            self._result.doubtful.add(path)

    def _mapping(self, path: YamlPath, part: _Part, base: _Part | None) -> dict[str, Any]:
        own, inherited = part.inside(), base.inside() if base else {}
        result = {}
        for key in dict.fromkeys((*inherited, *own)):
            place = (*path, key)
            if key not in own:
                result[key] = self.value(place, inherited[key])
            elif key in inherited and own[key].is_null() and not _has_null(place):
                self._note(place, own[key])  # the position to report if the key is required
            else:
                result[key] = self.value(place, own[key], inherited.get(key))
        return result

    def _pairs(self, part: _Part, base: _Part | None) -> Iterable[tuple[_Part, _Part | None]]:
        """Return the entries of a list, each with its entry of the base."""
        inherited = list(base.inside().values()) if base else []
        kept: dict[int, tuple[_Part, _Part | None]] = {
            index: (entry, None) for index, entry in enumerate(inherited)
        }
        added: list[tuple[_Part, None]] = []
        untouched = _indexes_by_name(inherited)
        for entry in part.inside().values():
            if isinstance(entry.data, dict) and REMOVE in entry.data:
                for index in self._removed(entry, untouched):
                    del kept[index]
                continue
            indexes = untouched.get(entry.name(), [])
            same = [i for i in indexes if inherited[i].architecture() == entry.architecture()]
            if same:
                indexes.remove(same[0])
                kept[same[0]] = entry, inherited[same[0]]
            else:
                added.append((entry, None))
        return (*kept.values(), *added)

    def _removed(self, entry: _Part, untouched: dict[str, list[int]]) -> list[int]:
        """Return all entries that `entry` removes; none, and a problem, if it cannot."""
        mistake = _mistake_in_removal(entry, untouched)
        if not mistake:
            return untouched.pop(entry.name())
        where = entry.source.where((*entry.path, REMOVE), key=True)
        self._result.refuse(where, *mistake, rule="ENV-007")
        return []


def _has_null(path: YamlPath) -> bool:
    """Return whether the field at `path` accepts null but has another default."""
    from slurmpod.environment.descriptions import field_at  # imported here to save start-up time

    field = field_at(path)
    if field is None or NoneType not in get_args(field.annotation):
        return False
    return field.get_default(call_default_factory=True) is not None


def _go_by_name(base: Any, own: list[Any]) -> bool:
    """Return whether lists are merged by name; the base decides, except that `[]` replaces it."""
    if not (isinstance(base, list) and own):
        return False
    return all(isinstance(entry, dict) for entry in (*base, *own)) and any(
        not entry.keys().isdisjoint(NAMES) for entry in base
    )


def _name_key(entry: dict[str, Any]) -> str:
    return next((name for name in NAMES if name in entry), NAMES[0])


def _indexes_by_name(entries: list[_Part]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        if entry.name():
            found.setdefault(entry.name(), []).append(index)
    return found


def _is_removal(key: YamlPath) -> bool:
    """Return whether a key is the `remove` of a list's entry."""
    return len(key) > 1 and key[-1] == REMOVE and isinstance(key[-2], int)


def _mistake_in_removal(entry: _Part, untouched: dict[str, list[int]]) -> tuple[str, str] | None:
    """Return why `entry` removes nothing and what to do; None if it removes something."""
    key = _name_key(entry.data)
    fix = f"write only `{key}` and `remove: true`, with a {key} of the base's list"
    if entry.data[REMOVE] is not True:
        return "'remove' can only be true", fix
    if not entry.name() or len(entry.data) > len((key, REMOVE)):
        return f"an entry that removes one of the base has its {key} and no other keys", fix
    if untouched.get(entry.name()):
        return None
    near = did_you_mean(entry.name(), (name for name, indexes in untouched.items() if indexes))
    return f"the base has no '{entry.name()}' to remove here", near or fix
