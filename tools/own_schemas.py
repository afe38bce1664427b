"""Schemas of resource types of AWS that cfn-lint does not ship yet, written after AWS's references.

cfn-lint then knows that these types exist; the embedded AWS takes their properties from here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

OWN_SCHEMAS = Path(__file__).with_name("schemas")


@cache
def load_own_schemas() -> None:
    """Let cfn-lint, in this process, know the types, whatever it has looked up before."""
    PROVIDER_SCHEMA_MANAGER.load_registry_schemas(str(OWN_SCHEMAS))
    PROVIDER_SCHEMA_MANAGER.reset()


def own_schema(resource_type: str) -> Mapping[str, Any]:
    """Return our schema of a type; raises FileNotFoundError for a type without one."""
    file = OWN_SCHEMAS / f"{resource_type.replace('::', '-')}.json"
    schema: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema
