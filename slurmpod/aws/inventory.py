"""Stacks of an account, including deleted ones, and its file systems. Read-only."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable, suppressed

NO_DATA = ("CREATING", "DELETING", "FAILED")
"""States of a file system that cannot be adopted."""


@dataclass(frozen=True)
class StackRecord:
    """A stack as CloudFormation lists it, deleted ones for 90 days."""

    arn: str
    name: str
    status: str


@dataclass(frozen=True)
class StackedResource:
    """A resource of a stack; DELETE_SKIPPED is the status of one that outlived it."""

    logical_id: str
    type: str
    physical_id: str
    status: str


@dataclass(frozen=True)
class HeldFileSystem:
    """An FSx file system for Lustre or OpenZFS; `mount_name` is empty for OpenZFS."""

    file_system_id: str
    type: str
    capacity_gib: int
    mount_name: str
    vpc_id: str
    created: datetime
    tags: Mapping[str, str]


@dataclass(frozen=True)
class AccountInventory:
    """Queries to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def stacks(self, names: Collection[str]) -> tuple[StackRecord, ...]:
        """Return the stacks with these names, including deleted ones, newest first."""
        with as_unavailable("list the stacks"):
            pages = self.clients.cloudformation.get_paginator("list_stacks").paginate()
            found = [
                (summary["CreationTime"], summary["StackId"], summary)
                for page in pages
                for summary in page["StackSummaries"]
                if summary["StackName"] in names
            ]
        return tuple(
            StackRecord(arn, summary["StackName"], summary["StackStatus"])
            for _, arn, summary in sorted(found, key=lambda each: each[:2], reverse=True)
        )

    def resources(self, stack: StackRecord) -> tuple[StackedResource, ...]:
        """Return the stack's resources with their last status."""
        with as_unavailable(f"list the resources of {stack.name}"):
            pages = self.clients.cloudformation.get_paginator("list_stack_resources").paginate(
                StackName=stack.arn
            )
            return tuple(
                StackedResource(
                    logical_id=each["LogicalResourceId"],
                    type=each["ResourceType"],
                    physical_id=each.get("PhysicalResourceId", ""),
                    status=each["ResourceStatus"],
                )
                for page in pages
                for each in page["StackResourceSummaries"]
            )

    def template(self, stack: StackRecord) -> Mapping[str, Any]:
        """Return the template of a stack as JSON types."""
        with as_unavailable(f"read the template of {stack.name}"):
            found = self.clients.cloudformation.get_template(StackName=stack.arn)
        body: Any = found["TemplateBody"]
        data = yaml.safe_load(body) if isinstance(body, str) else body
        return json.loads(json.dumps(data, default=str))  # type: ignore[no-any-return]

    def tags(self, stack: StackRecord) -> Mapping[str, str]:
        """Return the tags of a stack, which its resources inherit."""
        with as_unavailable(f"describe {stack.name}"):
            (found,) = self.clients.cloudformation.describe_stacks(StackName=stack.arn)["Stacks"]
        return {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}

    def identifiers(self, types: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return, by type, the properties that identify a resource for import."""
        resources = {f"Type{i}": {"Type": kind} for i, kind in enumerate(sorted(types))}
        with as_unavailable("ask what can be imported"):
            summary = self.clients.cloudformation.get_template_summary(
                TemplateBody=json.dumps({"Resources": resources})
            )
        return {
            each["ResourceType"]: tuple(each["ResourceIdentifiers"][0].split(","))
            for each in summary.get("ResourceIdentifierSummaries", [])
        }

    def is_there(self, resource_type: str, identifier: str) -> bool:
        """Return whether a resource of an importable type still exists."""
        looking = f"look for {resource_type} {identifier}"
        with as_unavailable(looking), suppressed("ResourceNotFoundException"):
            self.clients.cloud_control.get_resource(TypeName=resource_type, Identifier=identifier)
            return True
        return False

    def file_systems(self) -> tuple[HeldFileSystem, ...]:
        """Return the file systems for Lustre and OpenZFS, newest first."""
        with as_unavailable("list the FSx file systems"):
            pages = self.clients.fsx.get_paginator("describe_file_systems").paginate()
            found = [each for page in pages for each in page["FileSystems"]]
        held = [
            HeldFileSystem(
                file_system_id=each["FileSystemId"],
                type=each["FileSystemType"],
                capacity_gib=each.get("StorageCapacity", 0),
                mount_name=each.get("LustreConfiguration", {}).get("MountName", ""),
                vpc_id=each.get("VpcId", ""),
                created=each["CreationTime"],
                tags={tag["Key"]: tag["Value"] for tag in each.get("Tags", [])},
            )
            for each in found
            if each["FileSystemType"] in {"LUSTRE", "OPENZFS"} and each["Lifecycle"] not in NO_DATA
        ]
        return tuple(sorted(held, key=lambda each: each.created, reverse=True))
