"""Which services a Region lacks is what CloudFormation's schemas of that Region lack."""

from __future__ import annotations

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from slurmpod.environment.facts import fact
from slurmpod.environment.regions import HYPERPOD_REGIONS


@pytest.mark.parametrize(
    ("resource_type", "lacking"),
    [
        ("AWS::Budgets::Budget", "regions.without_budgets"),
        ("AWS::Grafana::Workspace", "regions.without_grafana"),
        ("AWS::APS::Workspace", "regions.without_prometheus"),
    ],
)
def test_the_list_is_that_of_the_schemas(resource_type: str, lacking: str) -> None:
    assert set(fact(lacking).values) == {
        region
        for region in HYPERPOD_REGIONS
        if resource_type not in PROVIDER_SCHEMA_MANAGER.get_resource_types(region)
    }
