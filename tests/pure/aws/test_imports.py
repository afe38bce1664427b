"""An import that CloudFormation gave up: what is told of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import WaiterError

from slurmpod.aws.imports import Import, ImportRefused, Imports
from tests.pure.aws.test_stack_events import event, told


def given_up(**kwargs: Any) -> None:
    raise WaiterError("StackImportComplete", "Waiter encountered a terminal failure state", {})


@pytest.mark.parametrize(
    ("failures", "reason"),
    [
        (
            (
                event(101, "Lustre", "IMPORT_FAILED", "no such file system"),
                event(102, "Bucket", "IMPORT_FAILED", "Resource import cancelled"),
            ),
            "Lustre: no such file system",
        ),
        ((), "the import was rolled back"),
    ],
)
def test_what_failed_first_in_this_import_is_told(
    failures: tuple[dict[str, Any], ...], reason: str
) -> None:
    aws = told(
        event(1, "dev-network", "IMPORT_IN_PROGRESS"),
        event(2, "Role", "IMPORT_FAILED", "of an attempt before"),
        event(3, "dev-network", "IMPORT_ROLLBACK_COMPLETE"),
        event(100, "dev-network", "IMPORT_IN_PROGRESS"),
        *failures,
        event(103, "dev-network", "IMPORT_ROLLBACK_COMPLETE"),
    ).clients.cloudformation
    clients: Any = SimpleNamespace(
        cloudformation=SimpleNamespace(
            execute_change_set=lambda **kwargs: None,
            get_waiter=lambda name: SimpleNamespace(wait=given_up),
            get_paginator=aws.get_paginator,
        )
    )
    with pytest.raises(ImportRefused, match=f"^dev-network: {reason}$"):
        Imports(clients).execute(Import("dev-network", {}, (), {}))
