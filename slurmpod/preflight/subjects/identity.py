"""The deploying identity, and existing roles and policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from embedded_aws.iam import NotAPolicy, Policy, policy_of
from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.operations.identity_check import read_identity
from slurmpod.permissions.identity import NamedIdentity, judge_identity
from slurmpod.permissions.powers import OF_AWS, powers_of
from slurmpod.preflight.facts import Document, Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.account import ask_caller
from slurmpod.preflight.subjects.bootstrap import QUALIFIER
from slurmpod.problems import Severity, YamlPath, first_of
from slurmpod.resolve import Resolved
from slurmpod.rules.identity import LEAST_PRIVILEGE
from slurmpod.rules.registry import Finding

BOOTSTRAP_ROLES = "https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html"
NODES = "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites-iam.html"
SHOWN = 4
ASSUMED = ("deploy", "file-publishing")
"""The roles of the bootstrap that `cdk deploy` assumes."""


def _identity(clients: AwsClients, resolved: Resolved) -> NamedIdentity:
    return read_identity(AwsAccount(clients), resolved)


def _names_identity(resolved: Resolved) -> bool:
    identity = resolved.identity
    return bool(identity.existing or identity.permissions_boundary or identity.policy_arns)


IDENTITY = Question(
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
)


def _assumable(clients: AwsClients, resolved: Resolved) -> dict[str, bool] | None:
    """Return whether the caller may assume the roles; None if IAM cannot tell."""
    prefix = f"arn:{resolved.aws_partition}:iam::{resolved.account}:role/cdk-{QUALIFIER}"
    place = f"{resolved.account}-{resolved.region}"
    roles = [f"{prefix}-{kind}-role-{place}" for kind in ASSUMED]
    with suppressed("NoSuchEntity", "InvalidInput"):  # neither a user nor a role, such as root
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
    """Return the ARN of a session's role; for a user, its own ARN."""
    kind, _, name = caller_arn.rpartition(":")[2].partition("/")
    if kind != "assumed-role":
        return caller_arn
    return clients.iam.get_role(RoleName=name.partition("/")[0])["Role"]["Arn"]


ASSUMABLE = Question(
    "assumable",
    "permission to deploy",
    ("iam:GetRole", "iam:SimulatePrincipalPolicy"),
    ("iam", "sts"),
    _assumable,
)


@PREFLIGHT.rule(
    "PRE-701",
    "The caller may deploy",
    why="cdk deploy assumes roles of the bootstrap, which do everything else. IAM's policy "
    "simulator evaluates the policies of the caller.",
    fix="allow sts:AssumeRole on the roles of the bootstrap (cdk-*-role-ACCOUNT-REGION)",
    source=BOOTSTRAP_ROLES,
)
def _caller_may_deploy(_: Resolved, facts: Facts) -> Iterator[Finding]:
    denied = [role.rpartition("/")[2] for role, may in (facts[ASSUMABLE] or {}).items() if not may]
    if denied and facts.caller:
        message = f"{facts.caller.arn} may not assume {first_of(denied, SHOWN)}"
        yield Finding(("account",), message)


@PREFLIGHT.rule(
    "PRE-702",
    "Existing roles and boundaries allow what nodes need",
    why="Actions that a role or its boundary does not allow fail on the nodes, after everything "
    "was created.",
    fix="slurmpod permissions FILE --check shows every action with its reason",
    source=NODES,
)
def _roles_suffice(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    named = facts[IDENTITY]
    for checked in judge_identity(named, resolved) if named else ():
        path = _place(resolved, checked.arn)
        known = {**named.roles, **named.policies} if named else {}
        if checked.arn not in known:
            continue
        for fault in checked.faults:
            yield Finding(path, fault)
        if lacks := sorted({lack.action for lack in checked.lacks}):
            yield Finding(path, f"{checked.arn} does not allow {first_of(lacks, SHOWN)}")


def _place(resolved: Resolved, arn: str) -> YamlPath:
    existing = resolved.identity.existing
    if existing is None:
        return ("identity", "permissions_boundary", "policy_arn")
    for role in ("controller", "login", "worker"):
        if getattr(existing, role) == arn:
            return ("identity", "existing", role)
    return ("identity", "existing")


@PREFLIGHT.rule(
    "PRE-703",
    "Additional policies exist",
    why="Creating a role with a missing policy fails.",
    fix="correct the ARN, or create the policy",
    source=NODES,
)
def _policies_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    identity = facts[IDENTITY]
    policies = identity.policies if identity else {}
    for index, arn in enumerate(resolved.identity.policy_arns):
        if arn in policies and policies[arn] is None:
            yield Finding(("identity", "policy_arns", index), "there is no such policy")


@PREFLIGHT.rule(
    "PRE-704",
    "Users of nodes get no more than the cluster needs",
    why="Anyone who runs something on a node has the permissions of its role: for the whole "
    "account, if a policy says so.",
    fix="narrow the statement to what jobs need, or write a condition; suppress it if every user "
    "of the cluster may do this",
    source=LEAST_PRIVILEGE,
    severity=Severity.WARNING,
)
def _users_get_no_more(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    identity = facts[IDENTITY]
    if identity is None:
        return
    for arn, role in identity.roles.items():
        bounds = _documents(identity, role.boundary_arn if role else None)
        own = _readable(role.policies if role else {})
        for power in powers_of(own, resolved, bounds=bounds):
            message = f"every user of its nodes can {power.what} ({power.action})"
            yield Finding(_place(resolved, arn), message)
    boundary = resolved.identity.permissions_boundary
    bounds = _documents(identity, boundary.policy_arn if boundary else None)
    for index, arn in enumerate(resolved.identity.policy_arns):
        if arn.rpartition("/")[2] in OF_AWS:
            continue  # reported by a rule
        for power in powers_of(_documents(identity, arn), resolved, bounds=bounds):
            message = f"with it every user of a node can {power.what} ({power.action})"
            yield Finding(("identity", "policy_arns", index), message)


def _documents(named: NamedIdentity, arn: str | None) -> list[Policy]:
    document = named.policies.get(arn) if arn else None
    return _readable({arn: document} if arn and document else {})


def _readable(documents: Mapping[str, Document]) -> list[Policy]:
    """Return policies; one that cannot be read allows nothing."""
    found = []
    for name, document in documents.items():
        with suppress(NotAPolicy):
            found.append(policy_of(name, document))
    return found


QUESTIONS = (IDENTITY, ASSUMABLE)
