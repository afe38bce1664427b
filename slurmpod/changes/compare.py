"""Two environments -> every change between them, with its effect. Pure.

Entries of lists are the same when they have the same name (or zone, path, id): moving one changes
nothing. What is deployed is given as plain data: an earlier version may have written it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from slurmpod.changes.effect import FILE_SYSTEM_LOST, Effect, Kind
from slurmpod.changes.effects import EFFECTS, LESS, REMOVED
from slurmpod.changes.file_systems import lustre_changes
from slurmpod.changes.subnets import moved_subnets
from slurmpod.model.descriptions import entry_section, section_in
from slurmpod.model.environment import Environment
from slurmpod.model.lustre import Lustre
from slurmpod.model.openzfs import OpenZfs
from slurmpod.resolve import resolve
from slurmpod.resolve.storage import MAIN_LUSTRE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from slurmpod.problems import YamlPath

IDENTITIES = ("name", "zone", "path", "mount_path", "id", "rule")
"""Keys that tell entries of a list apart, the first that they have."""

VARIANT = "architecture"
"""Key of entries that several have under one identity: one package for each kind of processor."""


@dataclass(frozen=True)
class Change:
    """One change: where, from what to what, and what it does.

    `path` is for people, with names in place of indexes; `new_path` leads to the value in the new
    file, or to what it was removed from. None stands for nothing.
    """

    path: str
    new_path: YamlPath
    old: Any
    new: Any
    effect: Effect

    @property
    def is_harmless(self) -> bool:
        """Tell whether nothing is lost, replaced or refused."""
        return self.effect.kind in (Kind.IN_PLACE, Kind.NEW_NODES)


@dataclass(frozen=True)
class _Place:
    """Where a comparison is: in names for people, and in the new file."""

    names: tuple[str, ...] = ()
    path: YamlPath = ()

    def below(self, part: str | int, *, shown_as: str = "") -> _Place:
        return _Place((*self.names, shown_as or str(part)), (*self.path, part))

    def change(self, old: Any, new: Any, effect: Effect) -> Change:
        return Change(".".join(self.names), self.path, old, new, effect)


def changes(deployed: Mapping[str, Any], wanted: Environment) -> tuple[Change, ...]:
    """Return the changes that lead from the deployed environment to the wanted one.

    What is computed knows more than what is written, and stands in its place.
    """
    written = _in_section(Environment, deployed, wanted.model_dump(mode="json"), _Place())
    by_path = {change.path: change for change in (*written, *_computed(deployed, wanted))}
    return tuple(by_path.values())


def _computed(deployed: Mapping[str, Any], wanted: Environment) -> Iterator[Change]:
    """Yield what follows from several fields together.

    Nothing for a record of an earlier version that this one cannot read.
    """
    try:
        before = resolve(Environment.model_validate(deployed, strict=False))
    except ValidationError:
        return
    after = resolve(wanted)
    for zone, old, new, effect in moved_subnets(before.network, after.network):
        yield Change(f"network: the subnet of {zone}", ("network",), old, new, effect)
    for name, key, old, new, effect in lustre_changes(before.lustre, after.lustre):
        yield _lustre_place(name, key, wanted).change(old, new, effect)


def _lustre_place(name: str, key: str, wanted: Environment) -> _Place:
    at = _Place().below("storage")
    if name == MAIN_LUSTRE:
        at = at.below("lustre")
    else:
        index = [each.name for each in wanted.storage.additional_lustre].index(name)
        at = at.below("additional_lustre").below(index, shown_as=name)
    for part in key.split("."):
        at = at.below(part)
    return at


def _in_section(
    section: type[BaseModel], old: Mapping[str, Any], new: Mapping[str, Any], at: _Place
) -> Iterator[Change]:
    for key, field in section.model_fields.items():
        before, after = old[key] if key in old else _default(field), new[key]
        if before == after:
            continue
        inner, entry = section_in(field), entry_section(field)
        if inner and before is not None and after is not None:
            yield from _in_section(inner, before, after, at.below(key))
        elif entry:
            yield from _in_list(
                entry, before or [], after or [], at.below(key), EFFECTS[section][key]
            )
        else:
            yield at.below(key).change(
                before, after, _effect(section, key, inner, old, before, after)
            )


def _in_list(
    entry: type[BaseModel],
    old: Sequence[Mapping[str, Any]],
    new: Sequence[Mapping[str, Any]],
    at: _Place,
    effect: Effect,
) -> Iterator[Change]:
    olds = {_identity(entry, each): each for each in old}
    for index, after in enumerate(new):
        here = at.below(index, shown_as=_identity(entry, after))
        before = olds.pop(_identity(entry, after), None)
        if before is None:
            yield here.change(None, after, effect)
        else:
            yield from _in_section(entry, before, after, here)
    for name, before in olds.items():
        here = _Place((*at.names, name), at.path)
        yield here.change(before, None, _removal(entry, before) or effect)


def _identity(entry: type[BaseModel], data: Mapping[str, Any]) -> str:
    """Return what tells an entry of a list from the others, as people see it."""
    key = next(name for name in IDENTITIES if name in entry.model_fields)
    keys = [key, VARIANT] if VARIANT in entry.model_fields else [key]
    return ".".join(str(data.get(each)) for each in keys)


def _effect(
    section: type[BaseModel],
    key: str,
    inner: type[BaseModel] | None,
    siblings: Mapping[str, Any],
    before: Any,
    after: Any,
) -> Effect:
    if inner and after is None:
        return _removal(inner, before) or EFFECTS[section][key]
    less = next((LESS[kind, key] for kind in section.__mro__ if (kind, key) in LESS), None)
    if less and before is not None and after is not None and _is_less(after, before):
        return less
    effect = EFFECTS[section][key]
    if effect.kind is Kind.REPLACES and siblings.get("on_delete") == "delete":
        return FILE_SYSTEM_LOST
    return effect


def _removal(section: type[BaseModel], before: Mapping[str, Any]) -> Effect | None:
    if issubclass(section, Lustre | OpenZfs) and before.get("on_delete") == "delete":
        return Effect(Kind.LOSES, "the file system is deleted with all its data")
    return next((REMOVED[kind] for kind in section.__mro__ if kind in REMOVED), None)


def _default(field: FieldInfo) -> Any:
    """Return what an earlier version, which did not know the field, meant by saying nothing."""
    return (
        None
        if field.is_required()
        else to_jsonable_python(field.get_default(call_default_factory=True))
    )


def _is_less(one: Any, other: Any) -> bool:
    """Compare numbers and versions, which are texts like 2.15."""
    if isinstance(one, str):
        return tuple(map(int, one.split("."))) < tuple(map(int, other.split(".")))
    return bool(one < other)
