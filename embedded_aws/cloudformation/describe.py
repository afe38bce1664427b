"""Stacks in the shapes of the CloudFormation API. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embedded_aws.cloudformation.stack import (
    Change,
    ChangeSet,
    Stack,
    StackEvent,
    StackResource,
)
from embedded_aws.resources import schemas
from embedded_aws.templates.intrinsics import as_text
from embedded_aws.templates.template import Template

Shape = dict[str, Any]


def stack_shape(stack: Stack, ancestors: Sequence[Stack]) -> Shape:
    """Return a stack as DescribeStacks does; `ancestors` has the parent of a nested stack first."""
    submission = stack.submission
    return {
        "StackId": stack.arn,
        "StackName": stack.name,
        "Description": submission.template.description,
        "Parameters": _parameters(stack),
        "CreationTime": stack.created_at,
        "LastUpdatedTime": stack.updated_at,
        "DeletionTime": stack.deleted_at,
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason or None,
        "DisableRollback": False,
        "NotificationARNs": [],
        "Capabilities": list(submission.capabilities),
        "Outputs": _outputs(stack),
        "RoleARN": submission.role_arn,
        "Tags": _tags(submission.tags),
        "EnableTerminationProtection": stack.termination_protection,
        "ParentId": ancestors[0].arn if ancestors else None,
        "RootId": ancestors[-1].arn if ancestors else None,
    }


def summary_shape(stack: Stack) -> Shape:
    """Return a stack as ListStacks does."""
    return {
        "StackId": stack.arn,
        "StackName": stack.name,
        "TemplateDescription": stack.submission.template.description,
        "CreationTime": stack.created_at,
        "LastUpdatedTime": stack.updated_at,
        "DeletionTime": stack.deleted_at,
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason or None,
    }


def resource_shape(stack: Stack, resource: StackResource) -> Shape:
    """Return a resource as all three operations on stack resources do, with both timestamps."""
    return {
        "StackId": stack.arn,
        "StackName": stack.name,
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id or None,
        "ResourceType": resource.type,
        "ResourceStatus": resource.status,
        "ResourceStatusReason": resource.reason or None,
        "Timestamp": resource.updated_at,
        "LastUpdatedTimestamp": resource.updated_at,
    }


def event_shape(stack: Stack, event: StackEvent) -> Shape:
    """Return an event as DescribeStackEvents does."""
    return {
        "StackId": stack.arn,
        "StackName": stack.name,
        "EventId": event.event_id,
        "LogicalResourceId": event.logical_id,
        "PhysicalResourceId": event.physical_id,
        "ResourceType": event.type,
        "ResourceStatus": event.status,
        "ResourceStatusReason": event.reason or None,
        "Timestamp": event.timestamp,
    }


def change_set_shape(stack: Stack, change_set: ChangeSet) -> Shape:
    """Return a change set as DescribeChangeSet does."""
    submission = change_set.submission
    return {
        **change_set_summary_shape(stack, change_set),
        "Parameters": [
            {"ParameterKey": key, "ParameterValue": value}
            for key, value in submission.parameters.items()
        ],
        "Tags": _tags(submission.tags),
        "Capabilities": list(submission.capabilities),
        "NotificationARNs": [],
        "Changes": [_change(change) for change in change_set.changes],
    }


def change_set_summary_shape(stack: Stack, change_set: ChangeSet) -> Shape:
    """Return a change set as ListChangeSets does."""
    return {
        "ChangeSetId": change_set.arn,
        "ChangeSetName": change_set.name,
        "Description": change_set.description or None,
        "StackId": stack.arn,
        "StackName": stack.name,
        "Status": change_set.status,
        "StatusReason": change_set.reason or None,
        "ExecutionStatus": change_set.execution_status,
        "CreationTime": change_set.created_at,
        "IncludeNestedStacks": False,
    }


def template_summary_shape(template: Template) -> Shape:
    """Return a template as GetTemplateSummary does: its requirements and importable resources."""
    types = sorted({resource.type for resource in template.resources.values()})
    return {
        "Parameters": [
            {"ParameterKey": name, "ParameterType": declared["Type"], "NoEcho": False}
            for name, declared in template.section("Parameters").items()
        ],
        "Description": template.description,
        "ResourceTypes": types,
        "ResourceIdentifierSummaries": [
            {
                "ResourceType": kind,
                "LogicalResourceIds": [
                    name for name, each in template.resources.items() if each.type == kind
                ],
                "ResourceIdentifiers": [",".join(schemas.import_identifiers(kind))],
            }
            for kind in types
            if schemas.import_identifiers(kind)
        ],
    }


_NAMES = {
    "AWS::IAM::Group": "GroupName",
    "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Role": "RoleName",
    "AWS::IAM::User": "UserName",
}
_NEED_CAPABILITIES = (*_NAMES, "AWS::IAM::AccessKey", "AWS::IAM::Policy")
"""Types whose resources need a capability; named resources need a different one.

Source: CloudFormation API reference, CreateStack, Capabilities.
"""


def validation_shape(template: Template) -> Shape:
    """Return a template as ValidateTemplate does."""
    transforms = template.document.get("Transform", [])
    needing = sorted(
        {each.type for each in template.resources.values() if each.type in _NEED_CAPABILITIES}
    )
    reason = f"The following resource(s) require capabilities: [{', '.join(needing)}]"
    return {
        "Parameters": [
            {
                "ParameterKey": name,
                "DefaultValue": as_text(declared["Default"]) if "Default" in declared else None,
                "NoEcho": bool(declared.get("NoEcho")),
                "Description": declared.get("Description"),
            }
            for name, declared in template.section("Parameters").items()
        ],
        "Description": template.description,
        "Capabilities": list(_capabilities(template)),
        "CapabilitiesReason": reason if needing else None,
        "DeclaredTransforms": [transforms] if isinstance(transforms, str) else transforms,
    }


def _capabilities(template: Template) -> Iterator[str]:
    """Yield the capabilities to acknowledge when deploying a template."""
    needing = [each for each in template.resources.values() if each.type in _NEED_CAPABILITIES]
    if any(_NAMES.get(each.type) in each.properties for each in needing):
        yield "CAPABILITY_NAMED_IAM"
    elif needing:
        yield "CAPABILITY_IAM"
    if "Transform" in template.document:
        yield "CAPABILITY_AUTO_EXPAND"


def _parameters(stack: Stack) -> list[Shape]:
    declared = stack.submission.template.section("Parameters")
    shapes = []
    for name, declaration in declared.items():
        default = as_text(declaration.get("Default", ""))
        given = stack.submission.parameters.get(name, default)
        shape = {
            "ParameterKey": name,
            "ParameterValue": "****" if declaration.get("NoEcho") else given,
        }
        if str(declaration["Type"]).startswith("AWS::SSM::"):
            shape["ResolvedValue"] = str(stack.resolved_parameters.get(name, ""))
        shapes.append(shape)
    return shapes


def _outputs(stack: Stack) -> list[Shape]:
    declared = stack.submission.template.section("Outputs")
    return [
        {
            "OutputKey": name,
            "OutputValue": value,
            "Description": declared[name].get("Description"),
            "ExportName": _export_name(stack, declared[name], value),
        }
        for name, value in stack.outputs.items()
        if name in declared
    ]


def _export_name(stack: Stack, declaration: Mapping[str, Any], value: str) -> str | None:
    if "Export" not in declaration:
        return None
    return next((name for name, exported in stack.exports.items() if exported == value), None)


def _change(change: Change) -> Shape:
    shape: Shape = {
        "Action": change.action,
        "LogicalResourceId": change.logical_id,
        "PhysicalResourceId": change.physical_id or None,
        "ResourceType": change.type,
        "Scope": [],
        "Details": [],
    }
    if change.action == "Modify":
        shape["Replacement"] = str(change.replacement)
        shape["Scope"] = ["Properties"]
        shape["Details"] = [_detail(change, name) for name in change.properties]
    return {"Type": "Resource", "ResourceChange": shape}


def _detail(change: Change, name: str) -> Shape:
    return {
        "Target": {
            "Attribute": "Properties",
            "Name": name,
            "RequiresRecreation": "Always" if change.replacement else "Never",
        },
        "Evaluation": "Static",
        "ChangeSource": "DirectModification",
    }


def _tags(tags: Mapping[str, str]) -> list[Shape]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
