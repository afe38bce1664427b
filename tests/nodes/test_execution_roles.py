"""Execution roles on real nodes: the table of permissions has exactly what they need.

The role has the same statements as in the stacks. With all of them a cluster comes up; without one
of them it fails at the step that needs it, with AWS's message.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from slurmpod.environment.cluster import Role
from slurmpod.permissions import document, expected_scope, grants
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import Resolved, resolve
from tests.nodes.deployed_bundle import deployed_bundle
from tests.nodes.hyperpod_lab import ACCOUNT, HyperPodLab, group, policy
from tests.nodes.test_lifecycle_bundles import by_api, customer_group

TEXT = """
edition: 2026
name: {name}
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large, count: {heads}}}
slurm:
  accounting_database: {{endpoint: {name}.example.com, secret_arn: {secret}}}
  multi_head: {multi_head}
lifecycle: {{mode: {mode}, step_timeout_seconds: {patience}}}
"""
TRUST = policy(Principal={"Service": "sagemaker.amazonaws.com"}, Action="sts:AssumeRole")
SCRIPTS_REFUSED = "Execution role provided does not have permissions to access the bucket s3://"
PATIENCE_SECONDS = 900
IMPATIENCE_SECONDS = 30
"""How long steps are tried again; shorter if they cannot succeed."""

Statements = list[dict[str, Any]]


class Roles:
    """A lab, and clusters of environments there with one role each, also several at a time."""

    def __init__(self, lab: HyperPodLab) -> None:
        self._lab = lab
        self._numbers = itertools.count(1)
        self._secret = lab.secret("records", username="admin", password="of-the-records")

    @property
    def journal(self) -> str:
        """All calls of all clusters so far."""
        return (self._lab.folder / "journal.jsonl").read_text()

    def environment(
        self,
        name: str,
        mode: str = "extended",
        *,
        heads: int = 1,
        patience: int = PATIENCE_SECONDS,
    ) -> Resolved:
        """Resolve an environment whose steps time out so soon, and upload its scripts."""
        text = TEXT.format(
            name=name,
            secret=self._secret,
            mode=mode,
            heads=heads,
            multi_head="{}" if heads > 1 else "null",
            patience=patience,
        )
        environment = read_as("environment.yaml", text).environment
        assert environment
        resolved = resolve(Reading(environment))
        s3, bucket = self._lab.aws.s3, resolved.lifecycle.bucket
        s3.create_bucket(
            Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
        )
        for path, text in deployed_bundle(self._lab, resolved).items():
            key = f"{resolved.lifecycle.prefix}/{path}"
            s3.put_object(Bucket=bucket, Key=key, Body=text.encode())
        return resolved

    def cluster(
        self,
        resolved: Resolved,
        statements: Statements,
        *,
        trust: str = TRUST,
        boundary: Statements | None = None,
    ) -> str:
        """Create a cluster whose nodes have a role with these statements; return why it failed."""
        role = f"{resolved.name}-{next(self._numbers)}"
        iam = self._lab.aws.iam
        iam.create_role(RoleName=role, AssumeRolePolicyDocument=trust)
        if boundary:
            arn = self._boundary(role, boundary)
            iam.put_role_permissions_boundary(RoleName=role, PermissionsBoundary=arn)
        text = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_role_policy(RoleName=role, PolicyName="nodes", PolicyDocument=text)
        head, more = self._requested(resolved)
        head["ExecutionRole"] = f"arn:aws:iam::{ACCOUNT}:role/{role}"
        cluster = self._lab.create(resolved.name, [head], **more)
        self._lab.delete(resolved.name)
        return str(cluster.get("FailureMessage", ""))

    def _requested(self, resolved: Resolved) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the group of controllers, and the mode's further arguments of CreateCluster."""
        uri = f"s3://{resolved.lifecycle.bucket}/{resolved.lifecycle.prefix}"
        if resolved.lifecycle.mode == "customer":
            return customer_group("head", uri, resolved.groups[0].count), {}
        database = {
            "Endpoint": f"{resolved.name}.example.com",
            "Port": 3306,
            "SecretArn": self._secret,
        }
        return group("head", "Controller", **by_api(self._lab, uri)), {
            "NodeProvisioningMode": "Continuous",
            "Orchestrator": {"Slurm": {"AccountingDatabase": database}},
        }

    def _boundary(self, name: str, statements: Statements) -> str:
        text = json.dumps({"Version": "2012-10-17", "Statement": statements})
        made: Any = self._lab.aws.iam.create_policy(PolicyName=name, PolicyDocument=text)
        return str(made["Policy"]["Arn"])


@pytest.fixture(scope="module")
def roles(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roles]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        yield Roles(lab)


@pytest.fixture(scope="module")
def resolved(roles: Roles) -> Resolved:
    """The environment of all clusters that are created one after another."""
    return roles.environment("roles")


@pytest.fixture(scope="module")
def in_vain(roles: Roles) -> Iterator[dict[str, Future[str]]]:
    """Failures of clusters whose nodes cannot read the secret: the time is spent waiting.

    In customer mode a step of ours reads it, and reports that.
    """
    unlisted, bounded = (
        roles.environment(name, "customer", patience=IMPATIENCE_SECONDS)
        for name in ("unlisted", "bounded")
    )
    no_secrets = {"Effect": "Allow", "NotAction": "secretsmanager:*", "Resource": "*"}
    with ThreadPoolExecutor() as beside:
        yield {
            "unlisted": beside.submit(
                roles.cluster, unlisted, without(needed(unlisted), "ReadAccountingSecret")
            ),
            "bounded": beside.submit(
                roles.cluster, bounded, needed(bounded), boundary=[no_secrets]
            ),
        }


def needed(resolved: Resolved) -> Statements:
    """Return the role's statements in the stacks."""
    statements = document(grants(expected_scope(resolved, tuple(Role))))["Statement"]
    return list(statements)


def without(statements: Statements, sid: str) -> Statements:
    left = [statement for statement in statements if statement["Sid"] != sid]
    assert len(left) < len(statements)
    return left


def test_with_every_statement_of_the_table_the_cluster_comes_up(
    roles: Roles, resolved: Resolved
) -> None:
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}

    assert roles.cluster(resolved, needed(resolved), boundary=[everything]) == ""


def test_two_controllers_that_our_scripts_set_up_need_no_other_statement(roles: Roles) -> None:
    two = roles.environment("two", "customer", heads=2)

    assert roles.cluster(two, needed(two)) == ""


@pytest.mark.parametrize(
    ("sid", "action"),
    [("ListLifecycleScripts", "s3:ListBucket"), ("GetLifecycleScripts", "s3:GetObject")],
)
def test_without_rights_in_the_bucket_no_script_is_fetched(
    roles: Roles, resolved: Resolved, sid: str, action: str
) -> None:
    failure = roles.cluster(resolved, without(needed(resolved), sid))

    assert failure.startswith(SCRIPTS_REFUSED + resolved.lifecycle.bucket)
    assert failure.endswith(f"because no identity-based policy allows the {action} action")


def test_without_its_secret_hyperpod_connects_no_database(roles: Roles, resolved: Resolved) -> None:
    failure = roles.cluster(resolved, without(needed(resolved), "ReadAccountingSecret"))

    assert "because no identity-based policy allows the secretsmanager:GetSecretValue" in failure


@pytest.mark.usefixtures("in_vain")  # they wait in parallel
def test_without_logs_the_scripts_run_all_the_same(roles: Roles, resolved: Resolved) -> None:
    assert roles.cluster(resolved, without(needed(resolved), "WriteLogs")) == ""
    assert "(AccessDeniedException) when calling the CreateLogStream operation" in roles.journal


def test_a_role_that_hyperpod_may_not_assume_makes_no_node(
    roles: Roles, resolved: Resolved
) -> None:
    for_people = policy(Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, Action="sts:AssumeRole")

    failure = roles.cluster(resolved, needed(resolved), trust=for_people)

    assert failure.startswith("SageMaker was unable to assume the role arn:aws:iam::")


def test_without_its_secret_the_step_of_the_accounting_says_so(
    in_vain: dict[str, Future[str]],
) -> None:
    failure = in_vain["unlisted"].result()
    last_line = failure.partition("Last line: ")[2]
    assert last_line.startswith("FAILED: accounting: "), failure
    assert "(AccessDeniedException) when calling the GetSecretValue operation: User: " in last_line
    assert "because no identity-based policy allows the secretsmanager:GetSecretValue" in last_line
    assert "fix: check that the secret exists and that the execution role may read it" in last_line


def test_a_boundary_that_is_too_narrow_fails_the_same_step(
    in_vain: dict[str, Future[str]],
) -> None:
    failure = in_vain["bounded"].result()
    assert "FAILED: accounting: " in failure
    assert "because no permissions boundary allows the secretsmanager:GetSecretValue" in failure
