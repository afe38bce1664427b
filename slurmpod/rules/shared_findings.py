"""Findings that rules of several areas share: of lists with repetitions, of ARNs from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from slurmpod.environment.names import account_of_arn, region_of_arn
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding


class Named(Protocol):
    """An entry with a name."""

    @property
    def name(self) -> str:
        """What tells it apart."""


def listed_twice(entries: Iterable[Named], *path: str) -> Iterator[Finding]:
    """Yield a finding for every entry of the list at `path` whose name stands above already."""
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.name in seen:
            at: YamlPath = (*path, index, "name")
            yield Finding(at, f"'{entry.name}' is listed twice")
        seen.add(entry.name)


def values_listed_twice(values: Iterable[str | int], *path: str) -> Iterator[Finding]:
    """Yield a finding for every value of the list at `path` that stands above already."""
    seen: set[str | int] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield Finding((*path, index), f"'{value}' is listed twice")
        seen.add(value)


NAME_A_KEY_OF_THE_REGION = (
    "write the ARN of a key in the environment's Region, or of a replica of a multi-Region key"
)
CHECK_THE_KEY_POLICY = "check the key's policy, then accept the warning with 'suppress'"

NAME_A_REPLICA = "replicate the secret into the environment's Region, and name that one"


def of_another_region(
    resolved: Resolved, arn: str | None, path: YamlPath, what: str = "the key"
) -> Iterator[Finding]:
    """Yield a finding at `path` when `what` is named there and lies elsewhere."""
    if arn and (region := region_of_arn(arn)) != resolved.region:
        yield Finding(path, f"{what} lies in {region}, not in {resolved.region}")


def of_another_account(
    resolved: Resolved, arn: str | None, path: YamlPath, what: str = "the key"
) -> Iterator[Finding]:
    """Yield a finding at `path` when `what` is named there and is somebody else's."""
    if arn and (account := account_of_arn(arn)) != resolved.account:
        yield Finding(path, f"{what} belongs to the account {account}")
