"""The registry of stacks: the CloudFormation stacks of an environment, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, field, fields
from typing import Any

from slurmpod.environment.environment import Environment
from slurmpod.resolve.resolved_network import ResolvedNetwork
from slurmpod.value import Value

Condition = Callable[[Environment, ResolvedNetwork], bool]

_CONDITION = "condition"


def _stack_if(condition: Condition) -> Any:
    """Declare a stack that only some environments need: CloudFormation refuses empty ones."""
    return field(metadata={_CONDITION: condition})


class StackNames(Value):
    """The stacks of an environment in deployment order; None for a stack it does not need.

    A field defines a stack's name, order and condition. `slurmpod_cdk.build` makes them.
    """

    _: KW_ONLY
    network: str | None = _stack_if(lambda _, network: not network.is_complete)
    storage: str | None = _stack_if(lambda environment, _: _makes_file_systems(environment))
    database: str | None = _stack_if(lambda environment, _: bool(environment.slurm.rds))
    monitoring: str | None = _stack_if(
        lambda environment, _: bool(environment.monitoring or environment.budget)
    )
    lifecycle: str | None = _stack_if(
        lambda environment, _: environment.lifecycle.mode != "managed"
    )
    identity: str | None = _stack_if(lambda environment, _: not environment.identity.existing)
    cluster: str
    cluster_watch: str | None = _stack_if(lambda environment, _: bool(environment.monitoring))
    access: str | None = _stack_if(lambda environment, _: bool(environment.access.sessions))
    endpoint: str | None = _stack_if(lambda environment, _: bool(environment.services.endpoint))
    notebook: str | None = _stack_if(lambda environment, _: bool(environment.services.notebook))

    def in_order(self) -> tuple[str, ...]:
        """Return the names in deployment order; they are destroyed in reverse."""
        return tuple(name for field in fields(self) if (name := getattr(self, field.name)))


def all_stack_names(environment: str) -> tuple[str, ...]:
    """Return the names of all stacks that an environment can have, in deployment order."""
    return tuple(_stack_name(environment, each.name) for each in fields(StackNames))


def stack_names(environment: Environment, network: ResolvedNetwork) -> StackNames:
    """Return the names of the stacks that are not empty."""
    names: dict[str, Any] = {}
    for each in fields(StackNames):
        condition: Condition | None = each.metadata.get(_CONDITION)
        is_there = condition is None or condition(environment, network)
        names[each.name] = _stack_name(environment.name, each.name) if is_there else None
    return StackNames(**names)


def _stack_name(environment: str, kind: str) -> str:
    return f"{environment}-{kind.replace('_', '-')}"


def _makes_file_systems(environment: Environment) -> bool:
    storage = environment.storage
    file_systems = (storage.lustre, *storage.additional_lustre, storage.openzfs)
    return any(each and not each.existing for each in file_systems)
