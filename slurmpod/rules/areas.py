"""All rules: the areas in the order in which they are applied and documented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rules.cluster import CLUSTER
from slurmpod.rules.form import FORM, RUNNER
from slurmpod.rules.network import NETWORK
from slurmpod.rules.region import REGION
from slurmpod.rules.slurm import SLURM
from slurmpod.rules.storage import STORAGE
from slurmpod.rules.tags import TAGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.rules.registry import Rule

AREAS = (FORM, RUNNER, REGION, TAGS, NETWORK, STORAGE, CLUSTER, SLURM)


def all_rules() -> Iterator[Rule]:
    """Return every rule, area by area."""
    for area in AREAS:
        yield from area.rules


def rule_by_id(rule_id: str) -> Rule | None:
    """Return the rule with this id, in whatever case it was typed."""
    return next((rule for rule in all_rules() if rule.id == rule_id.upper()), None)
