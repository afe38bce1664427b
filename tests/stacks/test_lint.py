from __future__ import annotations

from typing import TYPE_CHECKING

from cfnlint.api import ManualArgs, lint_by_config  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from tests.stacks.synthesis import Synthesized

IGNORED = {
    "W3005": "the CDK repeats the dependency of its own functions on their roles",
    "W3010": "the zone is chosen, not found: accelerated capacity is bought in one zone",
}


def test_cfn_lint_finds_nothing(example: Synthesized) -> None:
    config = ManualArgs(
        templates=[stack.template_full_path for stack in example.stacks.values()],
        regions=[example.resolved.region],
        ignore_checks=list(IGNORED),
    )
    assert [str(match) for match in lint_by_config(config)] == []
