"""The schemas of resource types that cfn-lint does not ship yet."""

from __future__ import annotations

import json
from importlib.resources import files

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from tools.own_schemas import OWN_SCHEMAS, load_own_schemas


def test_each_is_still_wanted() -> None:
    """Once cfn-lint ships a type, its schema goes before ours, which is then to be removed."""
    shipped = json.loads(
        (files("cfnlint") / "data/schemas/providers/us-east-1.json").read_text(encoding="utf-8")
    )
    own = {json.loads(file.read_text())["typeName"] for file in OWN_SCHEMAS.glob("*.json")}
    assert own == {"AWS::SageMaker::Extension"}
    assert own.isdisjoint(shipped)
    assert "AWS::SageMaker::Cluster" in shipped


def test_cfn_lint_knows_them_whatever_it_looked_up_before() -> None:
    load_own_schemas.cache_clear()
    PROVIDER_SCHEMA_MANAGER._registry_schemas.clear()
    PROVIDER_SCHEMA_MANAGER.reset()
    assert "AWS::SageMaker::Extension" not in PROVIDER_SCHEMA_MANAGER.get_resource_types(
        "us-west-2"
    )
    load_own_schemas()
    assert "AWS::SageMaker::Extension" in PROVIDER_SCHEMA_MANAGER.get_resource_types("us-west-2")
