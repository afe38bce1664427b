"""Rules for users' data: whether they are kept, and with which key they are encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.file_systems import new_file_systems
from slurmpod.rules.named_arns import (
    CHECK_THE_KEY_POLICY,
    NAME_A_KEY_OF_THE_REGION,
    of_another_account,
    of_another_region,
)
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import DELETION_POLICY, KEY_OF_ANOTHER_ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

DATA = Area("DAT", "Data")

ENCRYPTION = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/encryption-at-rest.html"


@DATA.rule(
    "DAT-001",
    "A protected environment keeps its data",
    why="`protected` promises that nothing is lost by one command; `on_delete: delete` deletes all "
    "data with the stack or with a change that replaces the file system.",
    fix="write 'on_delete: retain', or take the protection away",
    source=DELETION_POLICY,
)
def _protected_keeps_data(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.protected:
        for path, file_system in new_file_systems(environment):
            if file_system.on_delete == "delete":
                message = "a protected environment cannot delete its data with its stack"
                yield Finding((*path, "on_delete"), message)


@DATA.rule(
    "DAT-002",
    "Data outlive their stack",
    why="Deleting the stack deletes the file system and all that users have stored on it, and so "
    "does a change of a property that CloudFormation can only replace.",
    fix="write 'on_delete: retain'; where the data can be lost, accept the warning with 'suppress'",
    source=DELETION_POLICY,
    severity=Severity.WARNING,
)
def _data_outlive_the_stack(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.protected:
        return
    for path, file_system in new_file_systems(environment):
        if file_system.on_delete == "delete":
            message = f"all data at {file_system.mount_path} are deleted with the stack"
            yield Finding((*path, "on_delete"), message)


@DATA.rule(
    "DAT-003",
    "The key lies in the Region of the file system",
    why="FSx encrypts with a key of its own Region only.",
    fix=NAME_A_KEY_OF_THE_REGION,
    source=ENCRYPTION,
)
def _key_is_in_the_region(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, file_system in new_file_systems(environment):
        place = (*path, "kms_key_arn")
        yield from of_another_region(environment, file_system.kms_key_arn, place)


@DATA.rule(
    "DAT-004",
    "The key belongs to the environment's account",
    why="A key of another account works only if its key policy lets this account and FSx use it; "
    "nothing here can see whether it does.",
    fix=CHECK_THE_KEY_POLICY,
    source=KEY_OF_ANOTHER_ACCOUNT,
    severity=Severity.WARNING,
)
def _key_is_in_the_account(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, file_system in new_file_systems(environment):
        place = (*path, "kms_key_arn")
        yield from of_another_account(environment, file_system.kms_key_arn, place)
