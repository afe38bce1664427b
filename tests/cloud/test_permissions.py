"""`slurmpod permissions` against an account: the roles and the boundary that are really there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded_aws.clients import Clients
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from slurmpod.cli.environment import sound_environment
from slurmpod.rehearsal.existing_resources import make_identity
from tests.cloud.cdk_account import ACCOUNT, REGION, Account
from tests.golden_files import ROOT

EXAMPLES = ROOT / "environments" / "examples"
OWN = EXAMPLES / "own-roles.yaml"
GUARDED = EXAMPLES / "guarded-data.yaml"
PEOPLE = "own-roles-people"
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/platform/cluster-boundary"


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        yield aws


@pytest.fixture
def aws(running: EmbeddedAws) -> Iterator[EmbeddedAws]:
    """An account that has no roles and policies before and after."""
    yield running
    iam = running.clients().iam
    for role in iam.list_roles()["Roles"]:
        name = role["RoleName"]
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
            iam.delete_role_policy(RoleName=name, PolicyName=policy)
        iam.delete_role(RoleName=name)
    for managed in iam.list_policies(Scope="Local")["Policies"]:
        for version in iam.list_policy_versions(PolicyArn=managed["Arn"])["Versions"]:
            if not version["IsDefaultVersion"]:
                iam.delete_policy_version(PolicyArn=managed["Arn"], VersionId=version["VersionId"])
        iam.delete_policy(PolicyArn=managed["Arn"])


def check(aws: EmbeddedAws, file: Path, *more: str) -> tuple[int, str, str]:
    done = Account(aws).slurmpod("permissions", str(file), "--check", *more)
    return done.returncode, done.stdout, done.stderr


def with_identity(aws: EmbeddedAws, file: Path) -> Clients:
    """Put the roles and policies that an environment names into the account."""
    clients = aws.clients()
    make_identity(clients, sound_environment(file).resolved)
    return clients


def put(clients: Clients, *statements: dict[str, Any]) -> None:
    """Give the role of people another policy beside its own."""
    clients.iam.put_role_policy(
        RoleName=PEOPLE,
        PolicyName="more",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": list(statements)}),
    )


def test_what_the_command_prints_suffices(aws: EmbeddedAws) -> None:
    printed = json.loads(Account(aws).slurmpod("permissions", str(OWN), "--role", "worker").stdout)
    clients = with_identity(aws, OWN)
    clients.iam.put_role_policy(
        RoleName=PEOPLE, PolicyName="nodes", PolicyDocument=json.dumps(printed)
    )
    code, out, err = check(aws, OWN)
    assert (code, err) == (0, "")
    assert out == (
        f"arn:aws:iam::{ACCOUNT}:role/clusters/own-roles-controller (for controller nodes): "
        "suffices\n"
        f"arn:aws:iam::{ACCOUNT}:role/clusters/own-roles-people (for login, worker nodes): "
        "suffices\n"
    )


def test_a_role_that_is_not_there_is_told(aws: EmbeddedAws) -> None:
    code, out, err = check(aws, OWN)
    assert code == 1
    assert out.count("there is no such role in the account") == 2
    assert err.startswith("next: slurmpod permissions ")


def test_what_a_role_lacks_is_told_with_who_needs_it(aws: EmbeddedAws) -> None:
    clients = with_identity(aws, OWN)
    put(clients, {"Sid": "No", "Effect": "Deny", "Action": "ec2:CreateTags", "Resource": "*"})
    code, out, _ = check(aws, OWN)
    assert code == 1
    assert "own-roles-controller (for controller nodes): suffices\n" in out
    assert "own-roles-people (for login, worker nodes): does not suffice\n  ec2:CreateTags\n" in out
    assert "needed by HyperPod, for every new, replaced or deleted node" in out
    assert "denied by statement No of more" in out


def test_a_role_that_sagemaker_may_not_assume_is_told(aws: EmbeddedAws) -> None:
    clients = with_identity(aws, OWN)
    trust = {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow",
            "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": "sts:AssumeRole",
        },
    }
    clients.iam.update_assume_role_policy(RoleName=PEOPLE, PolicyDocument=json.dumps(trust))
    code, out, _ = check(aws, OWN)
    assert code == 1
    assert out.count("sagemaker.amazonaws.com may not assume it") == 1


def test_the_boundary_of_a_role_counts(aws: EmbeddedAws) -> None:
    clients = with_identity(aws, OWN)
    allowed = {"Effect": "Allow", "NotAction": "logs:*", "Resource": "*"}
    policy = clients.iam.create_policy(
        PolicyName="narrow",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": allowed}),
    )["Policy"]
    clients.iam.put_role_permissions_boundary(RoleName=PEOPLE, PermissionsBoundary=policy["Arn"])
    code, out, _ = check(aws, OWN, "--json")
    assert code == 1
    controller, people = json.loads(out)
    assert controller["suffices"]
    assert controller["nodes"] == ["controller"]
    assert {lack["action"] for lack in people["lacks"]} == {
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
    }


def test_the_role_of_other_nodes_is_not_looked_at(aws: EmbeddedAws) -> None:
    with_identity(aws, OWN).iam.delete_role_policy(RoleName=PEOPLE, PolicyName="nodes-1")
    assert check(aws, OWN, "--role", "controller")[0] == 0
    assert check(aws, OWN, "--role", "login")[0] == 1


def test_a_boundary_for_new_roles_is_held_against_what_nodes_need(aws: EmbeddedAws) -> None:
    code, out, _ = check(aws, GUARDED)
    assert code == 1
    assert f"the policy {BOUNDARY}, does not exist" in out
    clients = with_identity(aws, GUARDED)
    assert check(aws, GUARDED)[0] == 0
    document = json.loads((EXAMPLES / "guarded-data" / "cluster-boundary.json").read_text())
    clients.iam.create_policy_version(
        PolicyArn=BOUNDARY, PolicyDocument=json.dumps(document), SetAsDefault=True
    )
    assert check(aws, GUARDED)[0] == 0
    document["Statement"][0]["Action"].remove("ecr:*")
    clients.iam.create_policy_version(
        PolicyArn=BOUNDARY, PolicyDocument=json.dumps(document), SetAsDefault=True
    )
    code, out, _ = check(aws, GUARDED)
    assert code == 1
    assert "(for controller nodes): suffices" in out
    assert out.count("\n  ecr:BatchGetImage\n") == 2


def test_roles_that_slurmpod_makes_need_no_check(aws: EmbeddedAws) -> None:
    code, out, _ = check(aws, ROOT / "environments" / "dev.yaml")
    assert code == 0
    assert "there is nothing to check" in out


def test_an_account_that_is_another_one_is_not_asked(aws: EmbeddedAws, tmp_path: Path) -> None:
    text = (ROOT / "environments" / "dev.yaml").read_text()
    other = tmp_path / "dev.yaml"
    other.write_text(text.replace(ACCOUNT, "210987654321"))
    code, out, err = check(aws, other)
    assert (code, out) == (1, "")
    assert f"the credentials belong to account {ACCOUNT}" in err
