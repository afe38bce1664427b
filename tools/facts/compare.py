"""The differences between facts and the data that AWS publishes.

A fact's `checked_against` says where it is published: the kind of comparison, and its arguments.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from slurmpod.environment.facts import FACTS_FILE, Fact, fact
from slurmpod.value import Value
from tools.facts.published import Published
from tools.resource_schemas import resource_schemas
from tools.service_shapes import shapes_of

BEFORE_VALUES = re.compile(r"(valid|possible) values", re.IGNORECASE)
"""The phrase before lists of values in documentation; numbers before it are examples."""


class Difference(Value):
    """Values that AWS has and a fact lacks (`new`), and the reverse (`gone`)."""

    fact: Fact
    new: tuple[str, ...]
    gone: tuple[str, ...]


def differences(facts: Iterable[Fact], published: Published) -> Iterator[Difference]:
    """Compare every fact that is published; yield those that differ."""
    for each in facts:
        if not each.checked_against:
            continue
        kind, _, rest = each.checked_against.partition(" ")
        there = CHECKS[kind](published, each, *rest.split())
        known = known_values(each)
        new = sorted(there - known - set(each.left_out))
        gone = sorted((known | set(each.left_out)) - there)
        if new or gone:
            yield Difference(each, tuple(new), tuple(gone))


def known_values(of: Fact) -> Set[str]:
    """Return the values of a fact, from its table if it has one."""
    if not of.table:
        return set(of.values)
    text = (FACTS_FILE.parent / of.table).read_text(encoding="utf-8")
    match Path(of.table).suffix:
        case ".csv":
            return {row[0] for row in list(csv.reader(text.splitlines()))[1:]}
        case ".json":
            return flattened(json.loads(text))
        case _:
            return set(text.split())


def flattened(value: Any, path: str = "") -> Set[str]:
    """Return the leaves of a JSON document, each as its path and its value."""
    if isinstance(value, Mapping) and value:
        return {leaf for key in value for leaf in flattened(value[key], f"{path}{key}.")}
    if isinstance(value, list) and value:
        return {leaf for each in value for leaf in flattened(each, path)}
    return {f"{path}{json.dumps(value)}"}


def _enum(published: Published, _: Fact, service: str, shape: str) -> Set[str]:
    return set(published.shapes(service)[shape]["enum"])


def _documented(published: Published, of: Fact, service: str, place: str) -> Set[str]:
    """Return the words of a list of values that match the form of the fact's values."""
    text = published.documentation(service, place)
    begins = BEFORE_VALUES.search(text)
    listed = text[begins.start() :] if begins else text
    return {
        each.replace(",", "") for each in re.findall(rf"(?<![\w.])(?:{of.form})(?![\w])", listed)
    }


def _operations(published: Published, _: Fact, service: str, pattern: str) -> Set[str]:
    return {each for each in published.operations(service) if re.fullmatch(pattern, each)}


def _regions(published: Published, _: Fact) -> Set[str]:
    return published.regions()


def _regions_with(published: Published, _: Fact, resource_type: str) -> Set[str]:
    return published.regions_with(resource_type)


def _regions_without(published: Published, _: Fact, resource_type: str) -> Set[str]:
    return set(fact("regions.hyperpod").values) - published.regions_with(resource_type)


def _engine_versions(published: Published, _: Fact, engine: str) -> Set[str]:
    return published.engine_versions(engine)


def _classes(published: Published, _: Fact, engine: str) -> Set[str]:
    return published.database_classes(engine)


def _shapes(published: Published, _: Fact, service: str, root: str) -> Set[str]:
    return flattened(shapes_of(published.shapes(service), root))


def _schemas(published: Published, of: Fact) -> Set[str]:
    types = json.loads((FACTS_FILE.parent / of.table).read_bytes())
    return flattened(json.loads(resource_schemas(types, published.resource_schema)))


CHECKS: Mapping[str, Callable[..., Set[str]]] = {
    "enum": _enum,
    "text": _documented,
    "operations": _operations,
    "regions": _regions,
    "regions-with": _regions_with,
    "regions-without": _regions_without,
    "engine": _engine_versions,
    "classes": _classes,
    "shapes": _shapes,
    "schemas": _schemas,
}
"""The function that finds AWS's values, by kind of comparison."""
