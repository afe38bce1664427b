"""Leftovers of earlier deployments of an environment, which no stack holds any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from slurmpod.aws.inventory import AccountInventory, HeldFileSystem, StackedResource, StackRecord
from slurmpod.operations.stack_history import (
    RememberedStack,
    UnknownReference,
    definition_of,
    remembered_stacks,
)
from slurmpod.resolve.environment import ENVIRONMENT_TAG
from slurmpod.resolve.stacks import all_stack_names

FILE_SYSTEM = "AWS::FSx::FileSystem"


@dataclass(frozen=True)
class Leftover:
    """A resource that outlived its stack; `definition` is what it was made from.

    `identifier` names it for an import. `problem` says why it cannot be taken back, if it cannot.
    """

    stack: StackRecord
    resource: StackedResource
    definition: Mapping[str, Any]
    identifier: Mapping[str, str]
    problem: str = ""


@dataclass(frozen=True)
class Leftovers:
    """All that is left.

    `failed` are stacks that have to go before their names can be used again; `vpc_ids` are the
    VPCs that stacks of the environment hold, or held and left.
    """

    resources: tuple[Leftover, ...]
    file_systems: tuple[HeldFileSystem, ...]
    failed: tuple[StackRecord, ...]
    vpc_ids: frozenset[str]


def find_leftovers(inventory: AccountInventory, former: str, environment: str) -> Leftovers:
    """Return what the environment `former` left, and no stack of it or of `environment` holds.

    Raises:
        AwsUnavailable: AWS does not answer.
    """
    history = remembered_stacks(
        inventory, sorted({*all_stack_names(former), *all_stack_names(environment)})
    )
    owned = {r.physical_id for each in history if not each.is_over for r in each.present()}
    live = {each.stack.name for each in history if not each.is_over}
    return Leftovers(
        resources=tuple(_left(inventory, history, owned, _takers(former, environment, live))),
        file_systems=tuple(
            each
            for each in inventory.file_systems()
            if each.tags.get(ENVIRONMENT_TAG) == former and each.file_system_id not in owned
        ),
        failed=tuple(each.stack for each in history if each.must_go),
        vpc_ids=frozenset(
            resource.physical_id
            for each in history
            for resource in each.present()
            if resource.type == "AWS::EC2::VPC"
        ),
    )


def _takers(former: str, environment: str, live: Collection[str]) -> Mapping[str, str]:
    """Return by former name the stacks that can take something in: those that are not there."""
    pairs = zip(all_stack_names(former), all_stack_names(environment), strict=True)
    return {old: new for old, new in pairs if new not in live}


def _left(
    inventory: AccountInventory,
    history: Sequence[RememberedStack],
    owned: Collection[str],
    takers: Mapping[str, str],
) -> Iterator[Leftover]:
    """Yield every leftover once; of several for one place, the newest takes it."""
    over = [remembered for remembered in history if remembered.is_over]
    types = {each.type for remembered in over for each in remembered.present()}
    identifiers = inventory.identifiers(types) if types else {}
    seen, taken = set(owned), set[tuple[str, str]]()
    for remembered in over:
        for resource in remembered.present():
            names = identifiers.get(resource.type, ())
            if resource.type == FILE_SYSTEM or resource.physical_id in seen:
                continue
            seen.add(resource.physical_id)
            if names:
                found = _leftover(resource, remembered, history, names)
                if not _is_there(inventory, found, names):
                    continue
                place = (remembered.stack.name, resource.logical_id)
                yield _placed(found, place, takers, taken)
            elif resource.status == "DELETE_SKIPPED":
                problem = f"CloudFormation cannot import {resource.type}"
                yield Leftover(remembered.stack, resource, {}, {}, problem)


def _leftover(
    resource: StackedResource,
    remembered: RememberedStack,
    history: Sequence[RememberedStack],
    names: Sequence[str],
) -> Leftover:
    try:
        definition = definition_of(resource, remembered, history)
    except UnknownReference as unknown:
        problem = f"nobody remembers what {unknown} was, which it refers to"
        return Leftover(remembered.stack, resource, {}, {names[0]: resource.physical_id}, problem)
    properties = definition["Properties"]
    others = {name: str(properties[name]) for name in names[1:] if name in properties}
    identifier = {names[0]: resource.physical_id.split("|")[0], **others}
    problem = "" if len(identifier) == len(names) else "its identifier is not known"
    return Leftover(remembered.stack, resource, definition, identifier, problem)


def _is_there(inventory: AccountInventory, found: Leftover, names: Sequence[str]) -> bool:
    known = [found.identifier[name] for name in names if name in found.identifier]
    return inventory.is_there(found.resource.type, "|".join(known))


def _placed(
    found: Leftover,
    place: tuple[str, str],
    takers: Mapping[str, str],
    taken: set[tuple[str, str]],
) -> Leftover:
    """Say where a leftover cannot go back to its place; otherwise the place is taken now."""
    if found.problem:
        return found
    stack, _ = place
    if stack not in takers:
        return replace(found, problem="its stack was made anew without it")
    if place in taken:
        return replace(found, problem="a newer one takes its place")
    taken.add(place)
    return found
