"""The schemas of resource types that cfn-lint does not ship yet."""

from __future__ import annotations

import json
from importlib.resources import files

from tools.own_schemas import OWN_SCHEMAS


def test_each_is_still_wanted() -> None:
    """Once cfn-lint ships a type, its schema goes before ours, which is then to be removed."""
    shipped = json.loads(
        (files("cfnlint") / "data/schemas/providers/us-east-1.json").read_text(encoding="utf-8")
    )
    own = {json.loads(file.read_text())["typeName"] for file in OWN_SCHEMAS.glob("*.json")}
    assert own == {"AWS::SageMaker::Extension"}
    assert own.isdisjoint(shipped)
    assert "AWS::SageMaker::Cluster" in shipped
