from __future__ import annotations

from tests.stacks.linting import lint
from tests.stacks.synthesis import Synthesized


def test_cfn_lint_finds_nothing(environment: Synthesized) -> None:
    templates = [stack.template_full_path for stack in environment.stacks.values()]
    assert lint(templates, environment.resolved.region) == []
