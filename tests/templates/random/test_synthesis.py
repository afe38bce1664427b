"""What the rules pass can be built: random sound environments become sound templates."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings

from slurmpod_cdk.nag.review import review
from tests.pure.property.environments import resolved_from, sound_environments
from tests.search_depth import cases
from tests.templates.linting import lint
from tests.templates.synthesis import synthesize

SOUND_TEMPLATES: set[tuple[str, str]] = set()
"""Texts of templates that were looked at before, with their Region: many are the same."""

AGEING = ("E3644",)
"""Which Region has which instance type: the pinned table is not the API's, and rules warn of it."""

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)


@settings(max_examples=cases(usual=6, deep=40), suppress_health_check=SLOW)
@given(sound_environments())
def test_sound_environments_become_templates_without_findings(data: dict[str, Any]) -> None:
    resolved = resolved_from(data)
    made = synthesize(resolved)
    assert {f"{resolved.name}-{stack}" for stack in made.templates} == set(
        resolved.stacks.in_order()
    )
    assert review(made.app) == ()
    paths = [stack.template_full_path for stack in made.stacks.values()]
    assert lint(unseen(paths, resolved.region), resolved.region, AGEING) == []
    SOUND_TEMPLATES.update((Path(path).read_text(), resolved.region) for path in paths)


def unseen(templates: Iterable[str], region: str) -> list[str]:
    return [path for path in templates if (Path(path).read_text(), region) not in SOUND_TEMPLATES]
