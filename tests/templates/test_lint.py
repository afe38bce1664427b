"""cfn-lint over every template once: many environments have the same ones, and it loads slowly."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.templates.linting import lint
from tests.templates.synthesis import Synthesized


def test_cfn_lint_finds_nothing(environments: dict[str, Synthesized]) -> None:
    findings = [
        finding
        for region, templates in unique_templates(environments).items()
        for finding in lint(templates, region)
    ]
    assert findings == []


def unique_templates(environments: dict[str, Synthesized]) -> dict[str, list[str]]:
    """Return the paths of templates by Region, of equal ones the first."""
    paths: dict[str, dict[str, str]] = defaultdict(dict)
    for each in environments.values():
        for stack in each.stacks.values():
            path = stack.template_full_path
            paths[each.resolved.region].setdefault(Path(path).read_text(), path)
    return {region: list(by_text.values()) for region, by_text in paths.items()}
