"""Schemas of AWS resource types that cfn-lint does not ship yet, written from AWS's references.

cfn-lint then accepts these types; the embedded AWS reads their properties from here.
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
    """Register the types with cfn-lint in this process, and reset its earlier look-ups."""
    PROVIDER_SCHEMA_MANAGER.load_registry_schemas(str(OWN_SCHEMAS))
    PROVIDER_SCHEMA_MANAGER.reset()


def own_schema(resource_type: str) -> Mapping[str, Any]:
    """Return slurmpod's schema of a type; raise FileNotFoundError if there is no such file."""
    file = OWN_SCHEMAS / f"{resource_type.replace('::', '-')}.json"
    schema: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema
