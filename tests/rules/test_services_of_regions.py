"""Which services a Region lacks is what CloudFormation's schemas of that Region lack."""

from __future__ import annotations

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from slurmpod.environment.regions import HYPERPOD_REGIONS
from slurmpod.rules.budget import REGIONS_WITHOUT_BUDGETS
from slurmpod.rules.monitoring import REGIONS_WITHOUT_GRAFANA


@pytest.mark.parametrize(
    ("resource_type", "lacking"),
    [
        ("AWS::Budgets::Budget", REGIONS_WITHOUT_BUDGETS),
        ("AWS::Grafana::Workspace", REGIONS_WITHOUT_GRAFANA),
        ("AWS::APS::Workspace", frozenset()),
    ],
)
def test_the_list_is_that_of_the_schemas(resource_type: str, lacking: frozenset[str]) -> None:
    assert lacking == {
        region
        for region in HYPERPOD_REGIONS
        if resource_type not in PROVIDER_SCHEMA_MANAGER.get_resource_types(region)
    }
