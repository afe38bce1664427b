"""cfn-lint, as tests of templates ask it."""

from __future__ import annotations

from collections.abc import Iterable

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
    return [str(match) for match in lint_by_config(config)]
