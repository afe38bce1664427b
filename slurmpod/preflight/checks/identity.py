"""Checks of who deploys, and of roles and policies that are there already."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.deploy.permissions.identity import Checked, judge_identity
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import YamlPath, first_of
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

BOOTSTRAP_ROLES = "https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html"
NODES = "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites-iam.html"
SHOWN = 4


@PREFLIGHT.rule(
    "PRE-701",
    "Who asks may deploy",
    why="cdk deploy assumes roles of the bootstrap, which do everything else. IAM's policy "
    "simulator says whether the policies of who asks let it.",
    fix="allow sts:AssumeRole on the roles of the bootstrap (cdk-*-role-ACCOUNT-REGION)",
    source=BOOTSTRAP_ROLES,
)
def _caller_may_deploy(_: Resolved, facts: Facts) -> Iterator[Finding]:
    denied = [role.rpartition("/")[2] for role, may in (facts.assumable or {}).items() if not may]
    if denied and facts.caller:
        message = f"{facts.caller.arn} may not assume {first_of(denied, SHOWN)}"
        yield Finding(("account",), message)


@PREFLIGHT.rule(
    "PRE-702",
    "Existing roles and boundaries let nodes do what they must",
    why="What a role, or the boundary on it, does not allow fails on the nodes, after everything "
    "was made.",
    fix="slurmpod permissions FILE --check shows every action with its reason",
    source=NODES,
)
def _roles_suffice(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    named = facts.identity
    for checked in judge_identity(named, resolved) if named else ():
        path = _place(resolved, checked)
        known = {**named.roles, **named.policies} if named else {}
        if checked.arn not in known:
            continue
        for fault in checked.faults:
            yield Finding(path, fault)
        if lacks := sorted({lack.action for lack in checked.lacks}):
            yield Finding(path, f"{checked.arn} does not allow {first_of(lacks, SHOWN)}")


def _place(resolved: Resolved, checked: Checked) -> YamlPath:
    existing = resolved.identity.existing
    if existing is None:
        return ("identity", "permissions_boundary", "policy_arn")
    for role in ("controller", "login", "worker"):
        if getattr(existing, role) == checked.arn:
            return ("identity", "existing", role)
    return ("identity", "existing")


@PREFLIGHT.rule(
    "PRE-703",
    "Further policies are there",
    why="A role with a policy that does not exist is not made.",
    fix="correct the ARN, or make the policy",
    source=NODES,
)
def _policies_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    policies = facts.identity.policies if facts.identity else {}
    for index, arn in enumerate(resolved.identity.policy_arns):
        if arn in policies and policies[arn] is None:
            yield Finding(("identity", "policy_arns", index), "there is no such policy")
