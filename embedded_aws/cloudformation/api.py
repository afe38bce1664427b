"""The operations of the CloudFormation API that the CDK CLI and people with the AWS CLI use."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Thread
from typing import Any, Final

from embedded_aws.cloudformation import describe
from embedded_aws.cloudformation.drift_api import DriftApi
from embedded_aws.cloudformation.engine import CloudFormation
from embedded_aws.cloudformation.stack import (
    ChangeSetRequest,
    DeletionRequest,
    ResourceToImport,
    Stack,
    Submission,
)
from embedded_aws.errors import ServiceError, validation_error
from embedded_aws.templates.template import Template
from embedded_aws.wire import Operation

Params = dict[str, Any]

_GRACE_SECONDS = 2.0
"""How long a response waits for its operation to finish: most stacks are ready by then."""

_CHANGE_SET_GRACE_SECONDS = 8.0
"""The same for change sets. The CDK CLI executes those and polls every five seconds only: without
this wait it would notice a few nodes, which boot in three seconds, after seven."""


class CloudFormationApi:
    """The API in front of a CloudFormation engine."""

    name: Final = "cloudformation"
    refusal: Final = "ValidationError"

    def __init__(self, engine: CloudFormation) -> None:
        self._engine = engine
        self._drift = DriftApi(engine)
        self.operations: Mapping[str, Operation] = {
            **self._drift.operations,
            "CancelUpdateStack": self._cancel_update_stack,
            "ContinueUpdateRollback": self._continue_update_rollback,
            "CreateChangeSet": self._create_change_set,
            "CreateStack": self._create_stack,
            "DeleteChangeSet": self._delete_change_set,
            "DeleteStack": self._delete_stack,
            "DescribeChangeSet": self._describe_change_set,
            "DescribeStackEvents": self._describe_stack_events,
            "DescribeStackResource": self._describe_stack_resource,
            "DescribeStackResources": self._describe_stack_resources,
            "DescribeStacks": self._describe_stacks,
            "ExecuteChangeSet": self._execute_change_set,
            "GetTemplate": self._get_template,
            "GetTemplateSummary": self._get_template_summary,
            "ListChangeSets": self._list_change_sets,
            "ListExports": self._list_exports,
            "ListImports": self._list_imports,
            "ListStackResources": self._list_stack_resources,
            "ListStacks": self._list_stacks,
            "UpdateStack": self._update_stack,
            "UpdateTerminationProtection": self._update_termination_protection,
            "ValidateTemplate": self._validate_template,
        }

    def _create_change_set(self, region: str, given: Mapping[str, Any]) -> Params:
        request = read_change_set(self._engine, region, given)
        stack, change_set = self._engine.create_change_set(region, request)
        return {"Id": change_set.arn, "StackId": stack.arn}

    def _describe_change_set(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            found = self._engine.find_change_set(
                region, given.get("StackName"), given["ChangeSetName"]
            )
            return describe.change_set_shape(*found)

    def _list_change_sets(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            stack = self._stack(region, given)
            sets = stack.change_sets.values()
            return {"Summaries": [describe.change_set_summary_shape(stack, s) for s in sets]}

    def _delete_change_set(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            try:
                stack, found = self._engine.find_change_set(
                    region, given.get("StackName"), given["ChangeSetName"]
                )
            except ServiceError as error:
                if error.code == "ChangeSetNotFound":
                    return {}
                raise
            del stack.change_sets[found.name]
            return {}

    def _execute_change_set(self, region: str, given: Mapping[str, Any]) -> Params:
        refuse_unsupported(given)
        stack, change_set = given.get("StackName"), given["ChangeSetName"]
        operation = self._engine.execute_change_set(region, stack, change_set)
        operation.join(_CHANGE_SET_GRACE_SECONDS)
        return {}

    def _create_stack(self, region: str, given: Mapping[str, Any]) -> Params:
        submission = read_submission(self._engine, region, given)
        stack, operation = self._engine.create_stack(region, given["StackName"], submission)
        stack.termination_protection = bool(given.get("EnableTerminationProtection"))
        _wait_a_little(operation)
        return {"StackId": stack.arn}

    def _update_stack(self, region: str, given: Mapping[str, Any]) -> Params:
        submission = read_submission(self._engine, region, given)
        stack, operation = self._engine.update_stack(region, given["StackName"], submission)
        _wait_a_little(operation)
        return {"StackId": stack.arn}

    def _cancel_update_stack(self, region: str, given: Mapping[str, Any]) -> Params:
        self._engine.cancel_update(region, given["StackName"])
        return {}

    def _continue_update_rollback(self, region: str, given: Mapping[str, Any]) -> Params:
        skipped = given.get("ResourcesToSkip") or ()
        _wait_a_little(self._engine.continue_roll_back(region, given["StackName"], skipped))
        return {}

    def _delete_stack(self, region: str, given: Mapping[str, Any]) -> Params:
        refuse_unsupported(given)
        try:
            operation = self._engine.delete_stack(region, given["StackName"], read_deletion(given))
        except ServiceError as error:
            if "does not exist" in error.message:
                return {}
            raise
        _wait_a_little(operation)
        return {}

    def _update_termination_protection(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            stack = self._stack(region, given)
            stack.termination_protection = given["EnableTerminationProtection"]
            return {"StackId": stack.arn}

    def _describe_stacks(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            if given.get("StackName"):
                stacks = [self._stack(region, given)]
            else:
                stacks = self._engine.stacks.active(region)
            return {"Stacks": [self._stack_shape(each) for each in stacks]}

    def _stack_shape(self, stack: Stack) -> Params:
        ancestors = self._engine.stacks.ancestors(stack)
        return {
            **describe.stack_shape(stack, ancestors),
            "DriftInformation": self._drift.stack_information(stack),
        }

    def _list_stacks(self, region: str, given: Mapping[str, Any]) -> Params:
        wanted = given.get("StackStatusFilter") or []
        with self._engine.lock:
            stacks = self._engine.stacks.everything(region)
            return {
                "StackSummaries": [
                    describe.summary_shape(stack)
                    for stack in stacks
                    if not wanted or stack.status in wanted
                ]
            }

    def _describe_stack_events(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            stack = self._stack(region, given)
            events = reversed(stack.events)
            return {"StackEvents": [describe.event_shape(stack, event) for event in events]}

    def _describe_stack_resource(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            (shape,) = self._resources(region, given)
            return {"StackResourceDetail": shape}

    def _describe_stack_resources(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            return {"StackResources": self._resources(region, given)}

    def _list_stack_resources(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            return {"StackResourceSummaries": self._resources(region, given)}

    def _get_template(self, region: str, given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            body = self._stack(region, given).submission.template.body
            return {"TemplateBody": body, "StagesAvailable": ["Original", "Processed"]}

    def _get_template_summary(self, region: str, given: Mapping[str, Any]) -> Params:
        return describe.template_summary_shape(read_template(self._engine, region, given))

    def _list_exports(self, region: str, _given: Mapping[str, Any]) -> Params:
        with self._engine.lock:
            return {
                "Exports": [
                    {"ExportingStackId": stack.arn, "Name": name, "Value": value}
                    for stack in self._engine.stacks.active(region)
                    for name, value in stack.exports.items()
                ]
            }

    def _list_imports(self, region: str, given: Mapping[str, Any]) -> Params:
        export = given["ExportName"]
        with self._engine.lock:
            stacks = self._engine.stacks.active(region)
            importers = [stack.name for stack in stacks if export in stack.imports]
        if not importers:
            raise validation_error(f"Export '{export}' is not imported by any stack.")
        return {"Imports": importers}

    def _validate_template(self, region: str, given: Mapping[str, Any]) -> Params:
        body = template_body(self._engine, region, given)
        return describe.validation_shape(self._engine.declared_template(region, body))

    def _stack(self, region: str, given: Mapping[str, Any]) -> Stack:
        if not given.get("StackName"):
            raise validation_error("StackName is required")
        return self._engine.stacks.find(region, given["StackName"])

    def _resources(self, region: str, given: Mapping[str, Any]) -> list[Params]:
        stack = self._stack(region, given)
        known = stack.known_resources
        wanted = given.get("LogicalResourceId")
        if wanted and wanted not in known:
            raise validation_error(f"Resource {wanted} does not exist for stack {stack.name}")
        resources = [known[wanted]] if wanted else list(known.values())
        return [
            {
                **describe.resource_shape(stack, resource),
                "DriftInformation": self._drift.resource_information(stack, resource.logical_id),
            }
            for resource in resources
        ]


def _wait_a_little(operation: Thread) -> None:
    operation.join(_GRACE_SECONDS)


_UNSUPPORTED = (
    "DisableRollback",
    "NotificationARNs",
    "RollbackConfiguration",
    "StackPolicyBody",
    "StackPolicyURL",
)


def read_change_set(
    engine: CloudFormation, region: str, given: Mapping[str, Any]
) -> ChangeSetRequest:
    """Parse the input of CreateChangeSet."""
    return ChangeSetRequest(
        stack_name=given["StackName"],
        name=given["ChangeSetName"],
        kind=given.get("ChangeSetType", "UPDATE"),
        description=given.get("Description", ""),
        submission=read_submission(engine, region, given),
        to_import=tuple(
            ResourceToImport(
                each["LogicalResourceId"], each["ResourceType"], each["ResourceIdentifier"]
            )
            for each in given.get("ResourcesToImport") or ()
        ),
        imports_existing=bool(given.get("ImportExistingResources")),
    )


def read_deletion(given: Mapping[str, Any]) -> DeletionRequest:
    """Parse the options of DeleteStack."""
    return DeletionRequest(
        retained=frozenset(given.get("RetainResources") or ()),
        is_forced=given.get("DeletionMode") == "FORCE_DELETE_STACK",
    )


def read_template(engine: CloudFormation, region: str, given: Mapping[str, Any]) -> Template:
    """Return the template of a request, or the stack's template if only the stack is named."""
    current = _current(engine, region, given.get("StackName", ""))
    if current is not None and not (given.get("TemplateBody") or given.get("TemplateURL")):
        return current.template
    return engine.template(region, template_body(engine, region, given), {})


def refuse_unsupported(given: Mapping[str, Any]) -> None:
    """Raise ValidationError for a request parameter that would otherwise be silently ignored."""
    for name in _UNSUPPORTED:
        if given.get(name):
            raise validation_error(f"{name} is not supported by the embedded AWS")


def read_submission(engine: CloudFormation, region: str, given: Mapping[str, Any]) -> Submission:
    """Return the template, parameters and tags of a request, with reused values filled in."""
    refuse_unsupported(given)
    current = _current(engine, region, given["StackName"])
    if given.get("UsePreviousTemplate") and current is not None:
        body = current.template.body
    else:
        body = template_body(engine, region, given)
    parameters = _parameters(given, current)
    return Submission(
        template=engine.template(region, body, parameters),
        parameters=parameters,
        tags=_tags(given, current),
        capabilities=tuple(given.get("Capabilities") or ()),
        role_arn=given.get("RoleARN") or (current.role_arn if current else None),
    )


def _current(engine: CloudFormation, region: str, name_or_arn: str) -> Submission | None:
    with engine.lock:
        for stack in engine.stacks.active(region):
            if name_or_arn in (stack.name, stack.arn):
                return stack.submission
    return None


def template_body(engine: CloudFormation, region: str, given: Mapping[str, Any]) -> str:
    """Return the template text that a request contains or refers to by URL."""
    if given.get("TemplateBody"):
        return str(given["TemplateBody"])
    if given.get("TemplateURL"):
        return engine.template_text(region, given["TemplateURL"])
    raise validation_error("Either Template URL or Template Body must be specified.")


def _tags(given: Mapping[str, Any], current: Submission | None) -> Mapping[str, str]:
    """Return the tags of a request: an empty list removes all, a missing one keeps the current."""
    if "Tags" not in given and current is not None:
        return current.tags
    return {tag["Key"]: tag["Value"] for tag in given.get("Tags") or ()}


def _parameters(given: Mapping[str, Any], current: Submission | None) -> dict[str, str]:
    previous = current.parameters if current is not None else {}
    parameters = {}
    for parameter in given.get("Parameters") or []:
        name = parameter["ParameterKey"]
        if not parameter.get("UsePreviousValue"):
            parameters[name] = str(parameter.get("ParameterValue", ""))
        elif name in previous:
            parameters[name] = previous[name]
    return parameters
