"""Execution roles on real nodes: what the table of permissions gives them is what they need.

The role has the very statements that the stacks would give it. With all of them a cluster comes up;
without one of them it fails at the step that needs it, in AWS's words.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from slurmpod.model.cluster import Role
from slurmpod.model.loader import load_text
from slurmpod.permissions import document, expected_scope, grants
from slurmpod.resolve import Resolved, resolve
from tests.rehearsal.deployed_bundle import deployed_bundle
from tests.rehearsal.hyperpod_lab import ACCOUNT, HyperPodLab, policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = """
name: roles
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large, count: 2}}
slurm:
  accounting_database: {{endpoint: records.example.com, secret_arn: {secret}}}
  multi_head: {{}}
lifecycle: {{step_timeout_seconds: {patience}}}
"""
TRUST = policy(Principal={"Service": "sagemaker.amazonaws.com"}, Action="sts:AssumeRole")
SCRIPTS_REFUSED = "Execution role provided does not have permissions to access the bucket s3://"
PATIENCE_SECONDS = 900
IMPATIENCE_SECONDS = 45
"""How long steps are tried again; the shorter one where they cannot succeed."""

Statements = list[dict[str, Any]]


class Roles:
    """A lab with the scripts of one environment, and clusters of it with one role each."""

    def __init__(self, lab: HyperPodLab) -> None:
        self._lab = lab
        self._count = 0
        secret = lab.secret("records", password="of-the-records")
        self.resolved = self._upload(secret, PATIENCE_SECONDS)
        self._upload(secret, IMPATIENCE_SECONDS)

    @property
    def needed(self) -> Statements:
        """The statements that the stacks would put into the role."""
        needed = document(grants(expected_scope(self.resolved, tuple(Role))))
        return list(needed["Statement"])

    @property
    def journal(self) -> str:
        """What happened in all clusters so far."""
        return (self._lab.folder / "journal.jsonl").read_text()

    def cluster(
        self,
        statements: Statements,
        *,
        trust: str = TRUST,
        boundary: Statements | None = None,
        patience: int = PATIENCE_SECONDS,
    ) -> str:
        """Create a cluster whose nodes have a role with these statements; return why it failed."""
        self._count += 1
        name = f"roles-{self._count}"
        iam = self._lab.aws.iam
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)
        if boundary:
            arn = self._boundary(name, boundary)
            iam.put_role_permissions_boundary(RoleName=name, PermissionsBoundary=arn)
        text = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_role_policy(RoleName=name, PolicyName="nodes", PolicyDocument=text)
        lifecycle = self.resolved.lifecycle
        group = {
            "InstanceGroupName": "head",
            "InstanceType": "ml.m5.large",
            "InstanceCount": 2,
            "ExecutionRole": f"arn:aws:iam::{ACCOUNT}:role/{name}",
            "LifeCycleConfig": {
                "SourceS3Uri": f"s3://{lifecycle.bucket}/{lifecycle.prefix}/{patience}",
                "OnCreate": "on_create.sh",
            },
        }
        cluster = self._lab.create(self.resolved.name, [group])
        self._lab.delete(self.resolved.name)
        return str(cluster.get("FailureMessage", ""))

    def _boundary(self, name: str, statements: Statements) -> str:
        text = json.dumps({"Version": "2012-10-17", "Statement": statements})
        made: Any = self._lab.aws.iam.create_policy(PolicyName=name, PolicyDocument=text)
        return str(made["Policy"]["Arn"])

    def _upload(self, secret: str, patience: int) -> Resolved:
        """Put the scripts whose steps wait so many seconds where they belong."""
        text = TEXT.format(secret=secret, patience=patience)
        environment = load_text("environment.yaml", text).environment
        assert environment
        resolved = resolve(environment)
        s3, bucket = self._lab.aws.s3, resolved.lifecycle.bucket
        if patience == PATIENCE_SECONDS:
            s3.create_bucket(
                Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
            )
        for path, text in deployed_bundle(self._lab, resolved).items():
            key = f"{resolved.lifecycle.prefix}/{patience}/{path}"
            s3.put_object(Bucket=bucket, Key=key, Body=text.encode())
        return resolved


@pytest.fixture(scope="module")
def roles(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roles]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        yield Roles(lab)


def without(statements: Statements, sid: str) -> Statements:
    left = [statement for statement in statements if statement["Sid"] != sid]
    assert len(left) < len(statements)
    return left


def test_with_every_statement_of_the_table_the_cluster_comes_up(roles: Roles) -> None:
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}

    assert roles.cluster(roles.needed, boundary=[everything]) == ""


@pytest.mark.parametrize(
    ("sid", "action"),
    [("ListLifecycleScripts", "s3:ListBucket"), ("GetLifecycleScripts", "s3:GetObject")],
)
def test_without_rights_in_the_bucket_no_script_is_fetched(
    roles: Roles, sid: str, action: str
) -> None:
    failure = roles.cluster(without(roles.needed, sid))

    assert failure.startswith(SCRIPTS_REFUSED + roles.resolved.lifecycle.bucket)
    assert failure.endswith(f"because no identity-based policy allows the {action} action")


def test_without_logs_the_scripts_run_all_the_same(roles: Roles) -> None:
    assert roles.cluster(without(roles.needed, "WriteLogs")) == ""
    assert "(AccessDeniedException) when calling the CreateLogStream operation" in roles.journal


def test_without_its_secret_the_step_of_the_accounting_says_so(roles: Roles) -> None:
    needed = without(roles.needed, "ReadAccountingSecret")
    failure = roles.cluster(needed, patience=IMPATIENCE_SECONDS)

    last_line = failure.partition("Last line: ")[2]
    assert last_line.startswith("FAILED: accounting: ")
    assert "(AccessDeniedException) when calling the GetSecretValue operation: User: " in last_line
    assert "because no identity-based policy allows the secretsmanager:GetSecretValue" in last_line
    assert "fix: check that the secret exists and that the execution role may read it" in last_line


def test_a_boundary_that_is_too_narrow_fails_the_same_step(roles: Roles) -> None:
    no_secrets = {"Effect": "Allow", "NotAction": "secretsmanager:*", "Resource": "*"}

    failure = roles.cluster(roles.needed, boundary=[no_secrets], patience=IMPATIENCE_SECONDS)
    assert "FAILED: accounting: " in failure
    assert "because no permissions boundary allows the secretsmanager:GetSecretValue" in failure


def test_a_role_that_hyperpod_may_not_assume_makes_no_node(roles: Roles) -> None:
    for_people = policy(Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, Action="sts:AssumeRole")

    failure = roles.cluster(roles.needed, trust=for_people)

    assert failure.startswith("SageMaker was unable to assume the role arn:aws:iam::")
