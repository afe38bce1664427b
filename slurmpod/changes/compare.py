"""Two environments -> every change between them, with its effect. Pure.

Their resolved values are compared, not their spelling. Entries of lists are the same when they have
the same name (or zone, path, id): moving one changes nothing. The deployed environment is plain
data: an earlier version may have written it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from slurmpod.changes.change import Change, FieldPath
from slurmpod.changes.combined import FILE_SYSTEM_LOST, changes_of_several_fields
from slurmpod.changes.expanded import CONSEQUENCES, written_out_with_files
from slurmpod.deployment_record import FILES, in_files, is_content
from slurmpod.environment.base import Effect, Kind, effect_of
from slurmpod.environment.descriptions import entry_section, section_in
from slurmpod.environment.environment import Environment
from slurmpod.environment.lustre import Lustre
from slurmpod.environment.storage import OpenZfs
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve

IDENTITIES = ("name", "zone", "path", "mount_path", "id", "rule", "bucket", "secret_arn")
"""Keys that identify an entry of a list; the first that it has counts."""

VARIANTS = {"name": "architecture", "bucket": "prefix"}
"""Keys that also identify an entry if several share a name: packages for each processor
architecture, parts of one bucket.
"""


NEXT_CLUSTER = Effect(Kind.IN_PLACE, "applied when the next cluster is created")


def changes(
    deployed: Mapping[str, Any], wanted: Resolved, *, has_cluster: bool = True
) -> tuple[Change, ...]:
    """Return the changes that lead from the deployed environment to the wanted one.

    Fields missing from a record have today's defaults. A record that this version cannot fully read
    is compared field by field, as written. Without a cluster none of its settings blocks a change.
    """
    found = _changes(deployed, wanted)
    return found if has_cluster else tuple(map(_without_cluster, found))


def _changes(deployed: Mapping[str, Any], wanted: Resolved) -> tuple[Change, ...]:
    environment = wanted.environment
    known = {key: value for key, value in deployed.items() if key != FILES}
    try:
        recorded = Environment.model_validate(known, strict=False)
    except ValidationError:
        return tuple(_as_written(known, environment))
    before = resolve(Reading(recorded))
    whole = recorded.model_dump(mode="json")
    as_written = {each.path: each for each in _as_written(whole, environment)}
    found = {
        each.path: _with_values_of(as_written.get(each.path), each)
        for each in _in_effect(before, deployed.get(FILES), wanted)
        if each.path in as_written or _is_consequence(each)
    }
    found |= {each.path: each for each in changes_of_several_fields(before, wanted)}
    return tuple(_at_its_file(each, environment) for each in found.values())


def _as_written(deployed: Mapping[str, Any], wanted: Environment) -> Iterator[Change]:
    yield from _in_section(Environment, deployed, wanted.model_dump(mode="json"), FieldPath())


def _in_effect(
    before: Resolved, in_old_files: Mapping[str, Any] | None, wanted: Resolved
) -> Iterator[Change]:
    """Yield the differences between the expanded environments.

    Files are skipped if an earlier version did not record their contents.
    """
    if in_old_files is None:
        after, in_new_files = resolve(Reading(wanted.environment)), {}
    else:
        after, in_new_files = wanted, in_files(wanted)
    old, new = (
        written_out_with_files(before, in_old_files or {}),
        written_out_with_files(after, in_new_files),
    )
    yield from _in_section(Environment, old, new, FieldPath())


def _with_values_of(written: Change | None, change: Change) -> Change:
    """Show the value as written, if it was written, instead of the computed one."""
    return replace(change, old=written.old, new=written.new) if written else change


def _is_consequence(change: Change) -> bool:
    keys = tuple(part for part in change.new_path if isinstance(part, str))
    return any(keys[: len(each)] == each for each in CONSEQUENCES)


def _without_cluster(change: Change) -> Change:
    return replace(change, effect=NEXT_CLUSTER) if change.effect.of_cluster else change


def _at_its_file(change: Change, environment: Environment) -> Change:
    """Return the path of the file of users for people beyond those in the environment."""
    match change.new_path:
        case ("access", "users", int(index), *_) if index >= len(environment.access.users):
            return replace(change, new_path=("access", "users_file"))
    return change


def _in_section(
    section: type[BaseModel], old: Mapping[str, Any], new: Mapping[str, Any], at: FieldPath
) -> Iterator[Change]:
    for key, field in section.model_fields.items():
        before, after = (data[key] if key in data else _default(field) for data in (old, new))
        if before == after:
            continue
        inner, entry = section_in(field), entry_section(field)
        if inner and before is not None and after is not None:
            yield from _in_section(inner, before, after, at.below(key))
        elif entry:
            effect = effect_of(field)
            yield from _in_list(entry, before or [], after or [], at.below(key), effect)
        else:
            yield at.below(key).change(before, after, _effect(field, old, before, after))


def _in_list(
    entry: type[BaseModel],
    old: Sequence[Mapping[str, Any]],
    new: Sequence[Mapping[str, Any]],
    at: FieldPath,
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
        here = FieldPath((*at.names, name), at.path)
        yield here.change(before, None, _removal(entry, before, effect))


def _identity(entry: type[BaseModel], data: Mapping[str, Any]) -> str:
    """Return the label that identifies an entry of a list for people."""
    fields = entry.model_fields
    key = next(name for name in IDENTITIES if name in fields)
    variant = VARIANTS.get(key)
    keys = [key, variant] if variant in fields else [key]
    values = (data[each] if each in data else _default(fields[each]) for each in keys)
    return ".".join(str(value) for value in values if value is not None)


def _effect(field: FieldInfo, siblings: Mapping[str, Any], before: Any, after: Any) -> Effect:
    effect, section = effect_of(field), section_in(field)
    if section and after is None:
        return _removal(section, before, effect)
    if effect.removed and after is None:
        return effect.removed
    if effect.less and before is not None and after is not None and _is_less(after, before):
        return effect.less
    if effect.kind is Kind.REPLACES and siblings.get("on_delete") == "delete":
        return FILE_SYSTEM_LOST
    if is_content(before) and is_content(after):
        return replace(effect, meaning=f"its content has changed; {effect.meaning}")
    return effect


def _removal(section: type[BaseModel], before: Mapping[str, Any], effect: Effect) -> Effect:
    if issubclass(section, Lustre | OpenZfs) and before.get("on_delete") == "delete":
        return Effect(Kind.LOSES, "the file system is deleted with all its data")
    return effect.removed or effect


def _default(field: FieldInfo) -> Any:
    """Return the default of a field that an earlier version did not know."""
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
