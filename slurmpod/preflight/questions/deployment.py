"""Questions about the CDK's bootstrap, stacks, what earlier ones left, and who may do what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.aws.inventory import AccountInventory
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.operations.identity_check import read_identity
from slurmpod.operations.retained import find_leftovers
from slurmpod.permissions.identity import NamedIdentity
from slurmpod.preflight.facts import STUCK, FailedRollback, Leftover
from slurmpod.preflight.questions.account import ask_caller
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import Resolved

QUALIFIER = "hnb659fds"
"""The CDK's default name of a bootstrap; cdk.json chooses no other."""

ASSUMED = ("deploy", "file-publishing")
"""The roles of the bootstrap that `cdk deploy` assumes."""


def _bootstrap(clients: AwsClients, _: Resolved) -> int:
    """Return the version of the bootstrap; 0 without one."""
    with suppressed("ParameterNotFound"):
        name = f"/cdk-bootstrap/{QUALIFIER}/version"
        return int(clients.ssm.get_parameter(Name=name)["Parameter"]["Value"])
    return 0


def _stacks(clients: AwsClients, resolved: Resolved) -> Mapping[str, str]:
    return LiveEnvironment(clients, resolved).statuses()


def _failed_rollbacks(
    clients: AwsClients, resolved: Resolved
) -> dict[str, tuple[FailedRollback, ...]]:
    """Return what stands in the way of stacks that CloudFormation could not change back."""
    stuck = (name for name, status in _stacks(clients, resolved).items() if status == STUCK)
    return {name: tuple(_not_changed_back(clients, name)) for name in stuck}


def _not_changed_back(clients: AwsClients, stack: str) -> Iterator[FailedRollback]:
    pages = clients.cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    for each in (each for page in pages for each in page["StackResourceSummaries"]):
        if each["ResourceStatus"] == "UPDATE_FAILED":
            yield FailedRollback(each["LogicalResourceId"], each.get("ResourceStatusReason", ""))


def _leftovers(clients: AwsClients, resolved: Resolved) -> tuple[Leftover, ...]:
    found = find_leftovers(AccountInventory(clients), resolved.name, resolved.name)
    resources = [
        Leftover(each.resource.type, each.resource.physical_id, each.problem)
        for each in found.resources
    ]
    held = [Leftover(each.type, each.file_system_id, "") for each in found.file_systems]
    return (*resources, *held)


def _identity(clients: AwsClients, resolved: Resolved) -> NamedIdentity:
    return read_identity(AwsAccount(clients), resolved)


def _names_identity(resolved: Resolved) -> bool:
    identity = resolved.identity
    return bool(identity.existing or identity.permissions_boundary or identity.policy_arns)


def _assumable(clients: AwsClients, resolved: Resolved) -> dict[str, bool] | None:
    """Return whether IAM lets who asks assume the roles; None where it cannot say it."""
    prefix = f"arn:{resolved.aws_partition}:iam::{resolved.account}:role/cdk-{QUALIFIER}"
    place = f"{resolved.account}-{resolved.region}"
    roles = [f"{prefix}-{kind}-role-{place}" for kind in ASSUMED]
    with suppressed("NoSuchEntity", "InvalidInput"):  # who is neither user nor role, such as root
        source = _policy_source(clients, ask_caller(clients).arn)
        found = clients.iam.simulate_principal_policy(
            PolicySourceArn=source, ActionNames=["sts:AssumeRole"], ResourceArns=roles
        )
        (result,) = found["EvaluationResults"]
        return {
            each["EvalResourceName"]: each["EvalResourceDecision"] == "allowed"
            for each in result["ResourceSpecificResults"]
        }
    return None


def _policy_source(clients: AwsClients, caller_arn: str) -> str:
    """Return the ARN of a session's role; a user is its own."""
    kind, _, name = caller_arn.rpartition(":")[2].partition("/")
    if kind != "assumed-role":
        return caller_arn
    return clients.iam.get_role(RoleName=name.partition("/")[0])["Role"]["Arn"]


QUESTIONS = (
    Question("bootstrap", "the CDK's bootstrap", ("ssm:GetParameter",), ("ssm",), _bootstrap),
    Question("stacks", "stacks", ("cloudformation:DescribeStacks",), ("cloudformation",), _stacks),
    Question(
        "failed_rollbacks",
        "resources that were not changed back",
        ("cloudformation:DescribeStacks", "cloudformation:ListStackResources"),
        ("cloudformation",),
        _failed_rollbacks,
    ),
    Question(
        "leftovers",
        "what earlier deployments left",
        (
            "cloudformation:DescribeStacks",
            "cloudformation:GetResource",
            "cloudformation:GetTemplate",
            "cloudformation:GetTemplateSummary",
            "cloudformation:ListStackResources",
            "cloudformation:ListStacks",
            "fsx:DescribeFileSystems",
        ),
        ("cloudformation", "cloud_control", "fsx"),
        _leftovers,
    ),
    Question(
        "identity",
        "roles and policies",
        (
            "iam:GetPolicy",
            "iam:GetPolicyVersion",
            "iam:GetRole",
            "iam:GetRolePolicy",
            "iam:ListAttachedRolePolicies",
            "iam:ListRolePolicies",
        ),
        ("iam",),
        _identity,
        _names_identity,
    ),
    Question(
        "assumable",
        "who may deploy",
        ("iam:GetRole", "iam:SimulatePrincipalPolicy"),
        ("iam", "sts"),
        _assumable,
    ),
)
