"""Resources left by earlier deployments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.inventory import AccountInventory
from slurmpod.operations.retained import find_leftovers
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, first_of
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

SHOWN = 3


@dataclass(frozen=True)
class Leftover:
    """A resource of an earlier deployment; `problem` says why it cannot be adopted, if so."""

    type: str
    id: str
    problem: str


def _leftovers(clients: AwsClients, resolved: Resolved) -> tuple[Leftover, ...]:
    found = find_leftovers(AccountInventory(clients), resolved.name, resolved.name)
    resources = [
        Leftover(each.resource.type, each.resource.physical_id, each.problem)
        for each in found.resources
    ]
    held = [Leftover(each.type, each.file_system_id, "") for each in found.file_systems]
    return (*resources, *held)


LEFTOVERS = Question(
    "leftovers",
    "resources of earlier deployments",
    (
        "cloudformation:DescribeStacks",
        "cloudformation:GetResource",
        "cloudformation:GetTemplate",
        "cloudformation:GetTemplateSummary",
        "cloudformation:ListStackResources",
        "cloudformation:ListStacks",
        "fsx:DescribeFileSystems",
    ),
    ("cloudformation", "cloud_control", "fsx"),
    _leftovers,
)


@PREFLIGHT.rule(
    "PRE-604",
    "No resources are left from earlier deployments",
    why="File systems, buckets and records outlive their stacks. A new deployment creates new, "
    "empty ones beside them, and both are billed.",
    fix="adopt them with slurmpod adopt; suppress it if they should stay separate",
    source="docs/nothing-lost.md",
    severity=Severity.WARNING,
)
def _nothing_is_left(_: Resolved, facts: Facts) -> Iterator[Finding]:
    if left := [f"{each.type} {each.id}" for each in facts[LEFTOVERS] or ()]:
        yield Finding(("name",), f"earlier deployments left {first_of(left, SHOWN)}")


QUESTIONS = (LEFTOVERS,)
