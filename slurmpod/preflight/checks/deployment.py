"""Checks of the CDK's bootstrap, of names that are taken, and of what earlier deployments left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slurmpod.preflight.facts import STUCK, Facts, FailedRollback
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, first_of
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

BOOTSTRAP = "https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html"
STACKS = (
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/"
    "cfn-console-view-stack-data-resources.html"
)
NEEDED_BOOTSTRAP = 6
"""The version that templates of the CDK demand (rule CheckBootstrapVersion in each of them)."""

NAME = ("name",)
SHOWN = 3

DEAD = ("CREATE_FAILED", "DELETE_FAILED")
"""Stacks in these states can only be deleted. Those whose creation was rolled back are deleted by
`cdk deploy` itself."""


@PREFLIGHT.rule(
    "PRE-601",
    "The account is bootstrapped",
    why="cdk deploy puts templates into a bucket of its bootstrap, and assumes roles of it.",
    fix="npx cdk bootstrap aws://ACCOUNT/REGION, once for an account and Region",
    source=BOOTSTRAP,
)
def _is_bootstrapped(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    version = facts.bootstrap
    fix = f"npx cdk bootstrap aws://{resolved.account}/{resolved.region}"
    if version == 0:
        message = f"account {resolved.account} is not bootstrapped in {resolved.region}"
        yield Finding(("region",), message, fix)
    elif version is not None and version < NEEDED_BOOTSTRAP:
        message = f"the bootstrap has version {version}; {NEEDED_BOOTSTRAP} is needed"
        yield Finding(("region",), message, fix)


@PREFLIGHT.rule(
    "PRE-602",
    "Stacks can be deployed",
    why="CloudFormation updates no stack whose deletion failed, or which something is changing.",
    fix="delete the stack (aws cloudformation delete-stack), or wait until its operation has ended",
    source=STACKS,
)
def _stacks_can_be_deployed(_: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, status in (facts.stacks or {}).items():
        if status in DEAD:
            fix = f"aws cloudformation delete-stack --stack-name {name}"
            yield Finding(NAME, f"the stack {name} is {status}", fix)
        elif status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
            yield Finding(NAME, f"the stack {name} is {status}", "wait until that has ended")
        elif status == STUCK:
            yield _stuck(name, (facts.failed_rollbacks or {}).get(name, ()))


def _stuck(stack: str, failed: Sequence[FailedRollback]) -> Finding:
    """Say what CloudFormation could not change back, and how to go on with or without that."""
    reasons = "; ".join(
        f"{each.resource} ({each.reason})" if each.reason else each.resource for each in failed
    )
    command = f"aws cloudformation continue-update-rollback --stack-name {stack}"
    fix = f"remove the cause, then: {command}"
    if failed:
        skipped = " ".join(each.resource for each in failed)
        fix += (
            f"; where it cannot be removed, add --resources-to-skip {skipped}: CloudFormation then "
            "takes these for changed back, so make them what the template says afterwards"
        )
    return Finding(NAME, f"the stack {stack} is {STUCK}{': ' * bool(reasons)}{reasons}", fix)


@PREFLIGHT.rule(
    "PRE-603",
    "The names are free",
    why="Clusters and database servers have names that an account has once in a Region.",
    fix="choose another name, or delete what has it",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateCluster.html",
)
def _names_are_free(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.stacks is None:
        return
    for cluster in facts.clusters or ():
        if cluster.name == resolved.name and facts.will_be_made(resolved.stacks.cluster):
            message = (
                f"there is a cluster {cluster.name} ({cluster.status}) that slurmpod did not create"
            )
            yield Finding(NAME, message)
    new = resolved.database.new if resolved.database else None
    taken = new and new.identifier in (facts.databases or ())
    if new and taken and facts.will_be_made(resolved.stacks.database):
        yield Finding(NAME, f"there is a server of RDS {new.identifier} already")


@PREFLIGHT.rule(
    "PRE-604",
    "Nothing is left of earlier deployments",
    why="File systems, buckets and records outlive their stacks. A new deployment makes new, empty "
    "ones beside them, and both cost.",
    fix="slurmpod adopt takes them back; suppress it if they are to stay apart",
    source="docs/nothing-lost.md",
    severity=Severity.WARNING,
)
def _nothing_is_left(_: Resolved, facts: Facts) -> Iterator[Finding]:
    if left := [f"{each.type} {each.id}" for each in facts.leftovers or ()]:
        yield Finding(NAME, f"earlier deployments left {first_of(left, SHOWN)}")
