"""What AWS publishes in a form that programs read: API models, and schemas of resources.

Both are parts of Python packages, of which any version may lie in a folder: botocore has the
models, cfn-lint the schemas that CloudFormation has in each Region.
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
"""What the entries of a partition end with that stand for none of its Regions."""
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
        """Return what the model says about a shape, or about `Shape.Member`, as plain text."""
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
        """Return the Regions whose CloudFormation has a type of resources."""
        return frozenset(region for region, types in self._types.items() if resource_type in types)

    def resource_schema(self, resource_type: str) -> Mapping[str, Any]:
        """Return CloudFormation's schema of a type of resources; ours, if cfn-lint has none yet."""
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
        """Return the classes of servers that some Region has for a database engine of RDS."""
        by_region = self._of_databases("dbinstanceclass_enum").values()
        found = (_allowed(rules["allOf"], engine, "DBInstanceClass") for rules in by_region)
        return frozenset(name for names in found for name in names)

    def _of_databases(self, name: str) -> dict[str, Any]:
        file = self.folder / SCHEMAS / "extensions" / "aws_rds_dbinstance" / f"{name}.json"
        rules: dict[str, Any] = json.loads(file.read_bytes())
        return rules


def _allowed(rules: Iterable[Mapping[str, Any]], engine: str, name: str) -> Iterator[str]:
    """Yield what a property may be with a database engine."""
    for rule in rules:
        if rule["if"]["properties"]["Engine"].get("const") == engine:
            yield from rule["then"]["properties"][name]["enum"]
