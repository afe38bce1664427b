"""An account of which everything is known, and imports that are only written down."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from slurmpod.aws.imports import Import, ImportRefused
from slurmpod.aws.inventory import HeldFileSystem, StackedResource, StackRecord

IDENTIFIERS = {
    "AWS::S3::Bucket": ("BucketName",),
    "AWS::EC2::VPC": ("VpcId",),
    "AWS::EC2::Subnet": ("SubnetId",),
    "AWS::EC2::VPCCidrBlock": ("Id", "VpcId"),
}


@dataclass
class FakeHoldings:
    """Stacks newest first, each with resources and the entries of its template."""

    records: list[StackRecord] = field(default_factory=list)
    held: dict[str, list[StackedResource]] = field(default_factory=dict)
    templates: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    systems: list[HeldFileSystem] = field(default_factory=list)

    def add(self, name: str, status: str, **resources: tuple[str, str, str]) -> StackRecord:
        """Add a stack, newer than the others; resources are (type, physical id, status)."""
        arn = f"arn:aws:cloudformation:us-west-2:123456789012:stack/{name}/{len(self.records)}"
        record = StackRecord(arn, name, status)
        self.records.insert(0, record)
        self.held[arn] = [StackedResource(logical, *each) for logical, each in resources.items()]
        self.templates[arn] = {
            "Resources": {
                logical: {"Type": kind, "Properties": {}, "DeletionPolicy": "Retain"}
                for logical, (kind, _, _) in resources.items()
            }
        }
        return record

    def stacks(self, names: Collection[str]) -> tuple[StackRecord, ...]:
        return tuple(each for each in self.records if each.name in names)

    def resources(self, stack: StackRecord) -> tuple[StackedResource, ...]:
        return tuple(self.held[stack.arn])

    def template(self, stack: StackRecord) -> Mapping[str, Any]:
        return self.templates[stack.arn]

    def tags(self, stack: StackRecord) -> Mapping[str, str]:
        return {"slurmpod:environment": stack.name.rpartition("-")[0]}

    def identifiers(self, types: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        return {kind: IDENTIFIERS[kind] for kind in types if kind in IDENTIFIERS}

    def is_there(self, resource_type: str, identifier: str) -> bool:
        return identifier not in self.gone

    def file_systems(self) -> tuple[HeldFileSystem, ...]:
        return tuple(self.systems)


@dataclass
class FakeImports:
    """What was asked for, in order; `refused` stacks refuse when they are prepared."""

    inventory: FakeHoldings
    refused: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    done: list[Import] = field(default_factory=list)

    def clear(self, stack: StackRecord) -> None:
        self.calls.append(f"clear {stack.name}")
        at = self.inventory.records.index(stack)
        self.inventory.records[at] = StackRecord(stack.arn, stack.name, "DELETE_COMPLETE")
        self.inventory.held[stack.arn] = [
            StackedResource(each.logical_id, each.type, each.physical_id, "DELETE_SKIPPED")
            for each in self.inventory.held[stack.arn]
        ]

    def prepare(self, wanted: Import) -> None:
        if wanted.stack in self.refused:
            raise ImportRefused(f"{wanted.stack}: no")
        self.calls.append(f"prepare {wanted.stack}")

    def discard(self, wanted: Import) -> None:
        self.calls.append(f"discard {wanted.stack}")

    def execute(self, wanted: Import) -> None:
        self.calls.append(f"execute {wanted.stack}")
        self.done.append(wanted)


def file_system(
    id_: str, name: str, *, kind: str = "LUSTRE", environment: str = "dev", vpc_id: str = "vpc-1"
) -> HeldFileSystem:
    """Return a file system as slurmpod tags it."""
    return HeldFileSystem(
        file_system_id=id_,
        type=kind,
        capacity_gib=1200,
        mount_name="abcdefgh" if kind == "LUSTRE" else "",
        vpc_id=vpc_id,
        created=datetime(2026, 3, 1, tzinfo=UTC),
        tags={"slurmpod:environment": environment, "Name": name},
    )
