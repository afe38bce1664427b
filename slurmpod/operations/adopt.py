"""Adopting retained resources of earlier deployments: the plan, and carrying it out.

CloudFormation imports put a resource back into a stack and come first. They do not support FSx file
systems; an environment adopts those by their ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.imports import Import, ImportRefused, Imports
from slurmpod.aws.inventory import AccountInventory, HeldFileSystem, StackRecord
from slurmpod.environment.environment import Environment
from slurmpod.operations.retained import Leftover, Leftovers, find_leftovers
from slurmpod.resolve.stacks import all_stack_names


@dataclass(frozen=True)
class Adoption:
    """The plan of an adoption.

    `failed` stacks are deleted first; `lines` are for the user to add to the file; `others` are not
    adopted.
    """

    resources: tuple[Leftover, ...]
    failed: tuple[StackRecord, ...]
    lines: tuple[ExistingLines, ...]
    others: tuple[Leftover, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether no resources are left at all."""
        return not (self.resources or self.failed or self.lines or self.others)

    @property
    def is_work(self) -> bool:
        """Return whether slurmpod can do something."""
        return bool(self.resources or self.failed)


def plan_adoption(inventory: AccountInventory, former: str, environment: Environment) -> Adoption:
    """Return the resources of `former` that `environment` can adopt. Changes nothing.

    Raises:
        AwsUnavailable: AWS does not answer.
    """
    left = find_leftovers(inventory, former, environment.name)
    resources = tuple(each for each in left.resources if not each.problem)
    return Adoption(
        resources=resources,
        failed=tuple(_in_the_way(left.failed, resources, former, environment.name)),
        lines=tuple(_lines(left, former, environment)),
        others=tuple(each for each in left.resources if each.problem),
    )


def adopt(
    inventory: AccountInventory, imports: Imports, former: str, environment: Environment
) -> Adoption:
    """Import the resources that CloudFormation supports; return them.

    Every import is prepared before the first is executed, so that a rejection only changes failed
    stacks, which are deleted. A repeated call continues the work.

    Raises:
        AwsUnavailable: AWS does not answer.
        ImportRefused: CloudFormation rejected imports; the text has all reasons.
    """
    for stack in plan_adoption(inventory, former, environment).failed:
        imports.clear(stack)
    adoption = plan_adoption(inventory, former, environment)
    wanted = _imports(adoption.resources, inventory, former, environment.name)
    _prepare_all(imports, wanted)
    refusals = []
    for each in wanted:
        try:
            imports.execute(each)
        except ImportRefused as refused:
            refusals.append(str(refused))
    if refusals:
        raise ImportRefused("\n".join(refusals))
    return adoption


def _in_the_way(
    failed: Sequence[StackRecord], resources: Sequence[Leftover], former: str, environment: str
) -> Iterator[StackRecord]:
    """Yield the failed stacks that have resources to adopt, or the name of an adopting stack.

    A stack whose creation failed is left to the CDK, which deletes it when it deploys.
    """
    takers = dict(zip(all_stack_names(former), all_stack_names(environment), strict=True))
    names = {name for each in resources for name in (each.stack.name, takers[each.stack.name])}
    for stack in failed:
        if stack.status == "DELETE_FAILED" or stack.name in names:
            yield stack


def _prepare_all(imports: Imports, wanted: Sequence[Import]) -> None:
    prepared, refusals = [], []
    for each in wanted:
        try:
            imports.prepare(each)
            prepared.append(each)
        except ImportRefused as refused:
            refusals.append(str(refused))
    if refusals:
        for each in prepared:
            imports.discard(each)
        raise ImportRefused("\n".join(refusals))


def _imports(
    resources: Sequence[Leftover], inventory: AccountInventory, former: str, environment: str
) -> list[Import]:
    """Return an import for each stack, in the order in which stacks are deployed."""
    pairs = zip(all_stack_names(former), all_stack_names(environment), strict=True)
    return [
        _import(new, [each for each in resources if each.stack.name == old], inventory)
        for old, new in pairs
        if any(each.stack.name == old for each in resources)
    ]


def _import(stack: str, resources: Sequence[Leftover], inventory: AccountInventory) -> Import:
    definitions: dict[str, Any] = {r.resource.logical_id: r.definition for r in resources}
    return Import(
        stack=stack,
        template={"Resources": definitions},
        resources=[
            {
                "ResourceType": each.resource.type,
                "LogicalResourceId": each.resource.logical_id,
                "ResourceIdentifier": dict(each.identifier),
            }
            for each in resources
        ],
        tags=inventory.tags(resources[0].stack),
    )


def _lines(left: Leftovers, former: str, environment: Environment) -> Iterator[ExistingLines]:
    existing = environment.network.existing
    ours = left.vpc_ids | ({existing.vpc_id} if existing else set())
    for each in left.file_systems:
        lines = existing_lines(each, former, environment, is_in_our_network=each.vpc_id in ours)
        if lines:
            yield lines


KNOWN_WARNING = {
    "rule": "EXN-009",
    "reason": "the file system is in the VPC of this environment",
}
"""Accepts a warning about existing file systems with a slurmpod network."""


@dataclass(frozen=True)
class ExistingLines:
    """The lines to add for one file system.

    `place` is the section that the lines replace, empty if the environment has no section with this
    name. `suppress` accepts a false warning of the rules; `warning` is another thing to check.
    """

    file_system: HeldFileSystem
    place: str
    section: Mapping[str, Any]
    suppress: Mapping[str, str] | None = None
    warning: str = ""


def existing_lines(
    file_system: HeldFileSystem,
    former: str,
    environment: Environment,
    *,
    is_in_our_network: bool,
) -> ExistingLines | None:
    """Return the lines to add for a file system of `former`; None if the file has them."""
    storage = environment.storage
    all_lustre = (storage.lustre, *storage.additional_lustre)
    written = [each.existing for each in (*all_lustre, storage.openzfs) if each and each.existing]
    if any(each.id == file_system.file_system_id for each in written):
        return None
    name = file_system.tags.get("Name", "").removeprefix(former).removeprefix("-")
    place, section = _section(file_system, name, environment)
    if not is_in_our_network:
        return ExistingLines(file_system, place, section, warning=_WARNING)
    known = {each.rule for each in environment.suppress}
    is_warned = environment.network.existing is None and KNOWN_WARNING["rule"] not in known
    return ExistingLines(file_system, place, section, suppress=KNOWN_WARNING if is_warned else None)


_WARNING = (
    "no stack of the environment has its VPC: describe it under network.existing, or connect "
    "the two"
)


def _section(
    file_system: HeldFileSystem, name: str, environment: Environment
) -> tuple[str, dict[str, Any]]:
    storage = environment.storage
    existing = {"id": file_system.file_system_id}
    if file_system.type == "OPENZFS":
        folder = storage.openzfs.mount_path if storage.openzfs else "/home"
        return "storage.openzfs", {"mount_path": folder, "existing": existing}
    existing["mount_name"] = file_system.mount_name
    if not name:
        lustre = storage.lustre
        efa = {"efa": True} if lustre and lustre.efa else {}
        folder = lustre.mount_path if lustre else "/fsx"
        return "storage.lustre", {"mount_path": folder, "existing": existing, **efa}
    for number, lustre in enumerate(storage.additional_lustre):
        if lustre.name == name:
            efa = {"efa": True} if lustre.efa else {}
            section = {"name": name, "mount_path": lustre.mount_path, "existing": existing, **efa}
            return f"storage.additional_lustre[{number}]", section
    return "", {"name": name, "mount_path": f"/{name}", "existing": existing}
