"""Machine-readable data that AWS publishes: API models, and schemas of resources.

Both come from Python packages of any version in a folder: botocore has the models, cfn-lint the
CloudFormation schemas of each Region.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from botocore.loaders import Loader

from tools.own_schemas import own_schema

SCHEMAS = Path("cfnlint", "data", "schemas")
TAG = re.compile(r"<[^>]+>")
GLOBAL = "-global"
"""The suffix of a partition's entries that are not Regions."""
REGION_WITH_ALL_TYPES = "us-east-1"


@dataclass(frozen=True)
class Published:
    """The packages in a folder."""

    folder: Path

    @cached_property
    def _loader(self) -> Loader:
        data = str(self.folder / "botocore" / "data")
        return Loader(extra_search_paths=[data], include_default_search_paths=False)

    def shapes(self, service: str) -> Mapping[str, Any]:
        """Return the shapes of a service's API."""
        shapes: Mapping[str, Any] = self._model(service)["shapes"]
        return shapes

    def operations(self, service: str) -> frozenset[str]:
        """Return the names of a service's operations."""
        return frozenset(self._model(service)["operations"])

    def documentation(self, service: str, place: str) -> str:
        """Return the model's documentation of a shape or `Shape.Member`, as plain text."""
        shape, _, member = place.partition(".")
        found = self.shapes(service)[shape]
        described = found["members"][member] if member else found
        return TAG.sub(" ", described.get("documentation", ""))

    def _model(self, service: str) -> Mapping[str, Any]:
        model: Mapping[str, Any] = self._loader.load_service_model(service, "service-2")
        return model

    def regions(self) -> frozenset[str]:
        """Return the Regions of all partitions."""
        partitions = self._loader.load_data("partitions")["partitions"]
        named = (region for each in partitions for region in each["regions"])
        return frozenset(region for region in named if not region.endswith(GLOBAL))

    def regions_with(self, resource_type: str) -> frozenset[str]:
        """Return the Regions whose CloudFormation has a resource type."""
        return frozenset(region for region, types in self._types.items() if resource_type in types)

    def resource_schema(self, resource_type: str) -> Mapping[str, Any]:
        """Return CloudFormation's schema of a type, or slurmpod's if cfn-lint has none yet."""
        name = self._types[REGION_WITH_ALL_TYPES].get(resource_type)
        if name is None:
            return own_schema(resource_type)
        schema: Mapping[str, Any] = json.loads(
            (self.folder / SCHEMAS / "resources" / f"{name}.json").read_bytes()
        )
        return schema

    @cached_property
    def _types(self) -> Mapping[str, Mapping[str, str]]:
        files = (self.folder / SCHEMAS / "providers").glob("*-*.json")
        return {file.stem: json.loads(file.read_bytes()) for file in files}

    def engine_versions(self, engine: str) -> frozenset[str]:
        """Return the versions of a database engine of RDS, without the minor ones: 10.11."""
        rules = self._of_databases("engine_version")["allOf"]
        versions = _allowed(rules, engine, "EngineVersion")
        return frozenset(".".join(version.split(".")[:2]) for version in versions)

    def database_classes(self, engine: str) -> frozenset[str]:
        """Return the server classes for a database engine of RDS in any Region."""
        by_region = self._of_databases("dbinstanceclass_enum").values()
        found = (_allowed(rules["allOf"], engine, "DBInstanceClass") for rules in by_region)
        return frozenset(name for names in found for name in names)

    def _of_databases(self, name: str) -> dict[str, Any]:
        file = self.folder / SCHEMAS / "extensions" / "aws_rds_dbinstance" / f"{name}.json"
        rules: dict[str, Any] = json.loads(file.read_bytes())
        return rules


def _allowed(rules: Iterable[Mapping[str, Any]], engine: str, name: str) -> Iterator[str]:
    """Yield the allowed values of a property for a database engine."""
    for rule in rules:
        if rule["if"]["properties"]["Engine"].get("const") == engine:
            yield from rule["then"]["properties"][name]["enum"]
