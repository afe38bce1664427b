"""From a submission to the scope in which its template is resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from slurmpod.rehearsal.cloud.cloudformation.changes import plan_changes
from slurmpod.rehearsal.cloud.cloudformation.parameters import resolve_parameters
from slurmpod.rehearsal.cloud.cloudformation.scope import StackScope, check_rules
from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError
from slurmpod.rehearsal.cloud.errors import validation_error

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.clients import Clients
    from slurmpod.rehearsal.cloud.cloudformation.changes import Change
    from slurmpod.rehearsal.cloud.cloudformation.scope import Surroundings
    from slurmpod.rehearsal.cloud.cloudformation.stack import Stack, Submission


def plan(
    stack: Stack, submission: Submission, surroundings: Surroundings, aws: Clients
) -> tuple[Change, ...]:
    """Return what a submission would change; raises ValidationError for what cannot be done."""
    try:
        scope = scope_of(stack, submission, surroundings, aws)
        check_rules(submission.template, scope)
        return plan_changes(stack.resources, submission.template, submission.tags, scope)
    except TemplateError as error:
        raise validation_error(str(error)) from error


def scope_of(
    stack: Stack, submission: Submission, surroundings: Surroundings, aws: Clients
) -> StackScope:
    """Return the scope of a stack that is being brought to a submission."""

    def ssm_value(name: str) -> str:
        try:
            return str(aws.service("ssm").get_parameter(Name=name)["Parameter"]["Value"])
        except ClientError as error:
            raise TemplateError(
                f"Unable to fetch parameters [{name}] from parameter store for this account."
            ) from error

    return StackScope(
        template=submission.template,
        pseudo_parameters={
            "AWS::AccountId": aws.account,
            "AWS::Partition": aws.partition,
            "AWS::Region": aws.region,
            "AWS::StackId": stack.arn,
            "AWS::StackName": stack.name,
            "AWS::URLSuffix": aws.dns_suffix,
        },
        parameters=resolve_parameters(submission.template, submission.parameters, ssm_value),
        resources=stack.resources,
        surroundings=surroundings,
    )


def is_unchanged(stack: Stack, submission: Submission, changes: tuple[Change, ...]) -> bool:
    """Tell whether a submission asks for exactly what the stack already is."""
    current = stack.submission
    return (
        stack.status != "REVIEW_IN_PROGRESS"
        and not changes
        and submission.template.document == current.template.document
        and submission.parameters == current.parameters
        and submission.tags == current.tags
    )
