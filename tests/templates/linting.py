"""cfn-lint, as tests of templates ask it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import botocore.session
from cfnlint.api import ManualArgs, lint_by_config  # type: ignore[import-untyped]

from tools.own_schemas import load_own_schemas

IGNORED = {
    "W3005": "the CDK repeats the dependency of its own functions on their roles",
    "E3691": "RDS takes a major version alone and picks the minor one, which it keeps up to date",
    "W3010": "the zone is chosen, not found: accelerated capacity is bought in one zone",
}


def lint(templates: Iterable[str], region: str, also_ignored: Iterable[str] = ()) -> list[str]:
    """Return what cfn-lint finds in template files; none is no mistake, as it is for cfn-lint."""
    load_own_schemas()
    paths = list(templates)
    if not paths:
        return []
    config = ManualArgs(templates=paths, regions=[region], ignore_checks=[*IGNORED, *also_ignored])
    return [str(match) for match in lint_by_config(config) if not _is_newer_action(str(match))]


def _is_newer_action(finding: str) -> bool:
    """Return whether an action that cfn-lint does not know is an operation of SageMaker's API.

    cfn-lint takes actions from the service authorization reference, which comes later.
    """
    unknown = re.search(r"W3037: .*\('(?P<action>\w+)' is not one of", finding)
    if not unknown:
        return False
    return unknown["action"] in _operations_of_sagemaker()


@cache
def _operations_of_sagemaker() -> frozenset[str]:
    model = botocore.session.get_session().get_service_model("sagemaker")
    return frozenset(name.lower() for name in model.operation_names)
